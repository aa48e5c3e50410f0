package admission

import (
	"errors"
	"net/http"
	"sync/atomic"
)

// Drain takes a server out of service without losing a request: once begun, readiness fails while requests are still
// served, and each answer asks the client to connect anew, elsewhere. The API server keeps its connections for as long
// as they last, to a terminating pod too.
type Drain struct{ begun atomic.Bool }

// Begin makes readiness fail from now on.
func (d *Drain) Begin() { d.begun.Store(true) }

// Check is a healthz.Checker.
func (d *Drain) Check(*http.Request) error {
	if d.begun.Load() {
		return errors.New("shutting down")
	}
	return nil
}

// Wrap lets a handler's connections end once draining has begun.
func (d *Drain) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.begun.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}
