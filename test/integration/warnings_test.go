//go:build integration

package integration_test

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// warnings keeps what the API server warns a client about.
type warnings struct {
	mu   sync.Mutex
	text []string
}

// on is a configuration whose clients' warnings are kept.
func (w *warnings) on(c *rest.Config) *rest.Config {
	out := rest.CopyConfig(c)
	out.WarningHandler = w
	return out
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d warnings: %s", len(w.text), strings.Join(w.text, "; "))
}
