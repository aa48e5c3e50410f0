package controller

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// failing answers every list with an error.
type failing struct {
	client.Client
	err error
}

func (f failing) List(context.Context, client.ObjectList, ...client.ListOption) error { return f.err }

func TestWatchesThatStartOneByOneAreNoTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		logged int
	}{
		"not watched yet": {&cache.ErrResourceNotCached{GVK: podMetadata().GroupVersionKind()}, 0},
		"trouble":         {errors.New("etcd is gone"), 2}, // the pods and the Services
	} {
		t.Run(name, func(t *testing.T) {
			logged := 0
			ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, _ string) { logged++ }, funcr.Options{}))
			r := &components{keeper: keeper{cached: failing{err: test.err}}}
			assert.Empty(t, r.fromNamespace(ctx, namespaceMetadata()))
			assert.Equal(t, test.logged, logged)
		})
	}
}
