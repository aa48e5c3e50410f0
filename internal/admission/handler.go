package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dynawire/dynawire/internal/admission/review"
)

// bodyLimit is the largest review that is read. The API server takes objects up to 3 MiB, and an UPDATE carries two.
const bodyLimit = 8 << 20

// pooledLimit is the largest buffer that is kept for the next request, so that one huge pod does not stay in memory.
const pooledLimit = 256 << 10

// handler is one webhook over HTTP, about objects that are read into a T.
type handler[T any] struct {
	*Admission
	hook   string
	decide func(context.Context, *review.Request[T]) (answer, error)
}

// buffers are what a request reads into and answers from.
type buffers struct {
	in  bytes.Buffer
	out []byte
}

var pool = sync.Pool{New: func() any { return new(buffers) }}

// httpError is a request that cannot be answered by a review. To the API server it is a failed call, subject to the
// webhook's failurePolicy.
type httpError struct {
	code int
	err  error
}

func (e *httpError) Error() string { return e.err.Error() }

// ServeHTTP implements http.Handler.
func (h *handler[T]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.now()
	b := pool.Get().(*buffers)
	defer b.release()
	req := &review.Request[T]{}
	defer func() {
		if p := recover(); p != nil {
			h.Metrics.panicked(h.hook)
			h.Log.Error(fmt.Errorf("panic: %v", p), "admission request failed", "hook", h.hook, "uid", req.UID,
				"namespace", req.Namespace, "name", req.Name, "stack", string(debug.Stack()))
			h.fail(w, &req.Head, start, &httpError{http.StatusInternalServerError, errors.New("internal error")})
		}
	}()
	if err := h.read(w, r, &b.in); err != nil {
		h.fail(w, &req.Head, start, err)
		return
	}
	decoded, err := review.Decode[T](b.in.Bytes())
	if err != nil {
		h.fail(w, &req.Head, start, &httpError{http.StatusBadRequest, err})
		return
	}
	req = decoded
	a, err := h.decide(r.Context(), req)
	if err == nil {
		// The body has been read: its buffer is free for the patch.
		b.out, err = appendReview(b.out[:0], &b.in, req.UID, &a)
	}
	if err != nil {
		h.fail(w, &req.Head, start, err)
		return
	}
	w.Header()["Content-Type"] = jsonType
	if _, err := w.Write(b.out); err != nil {
		h.Log.V(1).Info("the client went away", "hook", h.hook, "uid", req.UID, "error", err.Error())
	}
	h.Metrics.answered(h.hook, &req.Head, &a, h.now().Sub(start))
	if log := h.Log.V(1); log.Enabled() {
		log.Info("admission request answered", "hook", h.hook, "uid", req.UID, "namespace", req.Namespace,
			"name", req.Name, "operation", req.Operation, "dryRun", req.DryRun, "decision", a.decision(), "reason", a.reason)
	}
}

// jsonType is shared by all responses: a header map takes slices.
var jsonType = []string{"application/json"}

// read reads the body of a well-formed request.
func (h *handler[T]) read(w http.ResponseWriter, r *http.Request, into *bytes.Buffer) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &httpError{http.StatusMethodNotAllowed, fmt.Errorf("method %s is not allowed, want POST", r.Method)}
	}
	if t := r.Header.Get("Content-Type"); t != "application/json" {
		if media, _, err := mime.ParseMediaType(t); err != nil || media != "application/json" {
			return &httpError{http.StatusUnsupportedMediaType, fmt.Errorf("content type is %q, want application/json", t)}
		}
	}
	if r.ContentLength > bodyLimit {
		return tooLarge()
	}
	if r.ContentLength > 0 {
		// ReadFrom wants room behind what it has read to see the end without growing.
		into.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := into.ReadFrom(io.LimitReader(r.Body, bodyLimit+1))
	if err != nil {
		return &httpError{http.StatusBadRequest, fmt.Errorf("read the body: %w", err)}
	}
	if n > bodyLimit {
		return tooLarge()
	}
	return nil
}

func tooLarge() error {
	return &httpError{http.StatusRequestEntityTooLarge, fmt.Errorf("the body is larger than %d bytes", bodyLimit)}
}

// fail answers a request that got no verdict.
func (h *handler[T]) fail(w http.ResponseWriter, req *review.Head, start time.Time, err error) {
	code := http.StatusInternalServerError
	var he *httpError
	if errors.As(err, &he) {
		code = he.code
	}
	h.Metrics.failed(h.hook, req, code, h.now().Sub(start))
	h.Log.Error(err, "admission request failed", "hook", h.hook, "uid", req.UID, "namespace", req.Namespace, "name", req.Name, "code", code)
	http.Error(w, err.Error(), code)
}

func (b *buffers) release() {
	if b.in.Cap() > pooledLimit || cap(b.out) > pooledLimit {
		return
	}
	b.in.Reset()
	pool.Put(b)
}
