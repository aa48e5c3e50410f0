package kube

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestTransient(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	dial := func(err error) error {
		return fmt.Errorf("read own pod: %w", &url.Error{Op: "Get", URL: "https://192.0.2.1", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}})
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"refused":             {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), true},
		"no route to host":    {dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), true},
		"network unreachable": {dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), true},
		"timeout of a dial":   {dial(os.ErrDeadlineExceeded), true},
		"no such host":        {dial(&net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true}), true},
		"DNS server away":     {dial(&net.DNSError{Err: "server misbehaving", Name: "api.example", IsTemporary: true}), true},
		"end of file":         {fmt.Errorf("read own pod: %w", &url.Error{Op: "Get", URL: "https://192.0.2.1", Err: io.EOF}), true},
		"connection lost":     {dial(errors.New("http2: client connection lost")), true},
		"restarting":          {apierrors.NewServiceUnavailable("starting"), true},
		"binding on its way":  {apierrors.NewForbidden(configMaps, "c", errors.New("no")), true},
		"not there":           {apierrors.NewNotFound(configMaps, "c"), false},
		"invalid":             {apierrors.NewBadRequest("no"), false},
		"another's name":      {dial(x509.HostnameError{Host: "api.example", Certificate: &x509.Certificate{}}), false},
		"unknown authority":   {dial(x509.UnknownAuthorityError{}), false},
		"canceled":            {dial(context.Canceled), false},
	} {
		assert.Equal(t, tc.want, transient(tc.err), name)
	}
}

// Who is told to stop does not try again, though the end of a request's time looks like a timeout of the network.
func TestRetryEndsWithItsContext(t *testing.T) {
	c := &Client{clock: clocktesting.NewFakeClock(time.Now())}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	tries := 0
	late := &url.Error{Op: "Get", URL: "https://192.0.2.1", Err: context.DeadlineExceeded}
	err := c.retry(ctx, func() error { tries++; return late })
	require.Equal(t, late, err, "said once")
	assert.Equal(t, 1, tries)
}
