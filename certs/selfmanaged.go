package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	cmtls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/cert-manager/cert-manager/pkg/server/tls/authority"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// caKey is the key of the CA certificates in the Secret.
const caKey = "ca.crt"

// SelfManagedConfig says where the CA of a SelfManaged source is kept and whom its leaf is for.
type SelfManagedConfig struct {
	// RESTConfig reaches the API server.
	RESTConfig *rest.Config
	// Namespace and Secret are where the CA and its key are kept. The Secret is made when it is missing.
	Namespace, Secret string
	// DNSNames are what clients call the server.
	DNSNames []string
	// CADuration is how long a CA is valid; zero is one year. A new one is made after two thirds of it.
	CADuration time.Duration
	// LeafDuration is how long a serving certificate is valid; zero is seven days. A new one is made after two thirds.
	LeafDuration time.Duration
}

// SelfManaged is a Source that is its own CA. The CA lives in a Secret that all replicas share; the leaf and its key
// live in the memory of each replica only and are signed anew when the CA changes. Both come from cert-manager's own
// webhook (pkg/server/tls), which has run this way for years.
type SelfManaged struct {
	bundle
	config    SelfManagedConfig
	authority *authority.DynamicAuthority
	leaf      *cmtls.DynamicSource
}

var _ Source = (*SelfManaged)(nil)

// NewSelfManaged makes a source; nothing happens before Start.
func NewSelfManaged(c SelfManagedConfig) *SelfManaged {
	a := &authority.DynamicAuthority{
		SecretNamespace: c.Namespace,
		SecretName:      c.Secret,
		SecretLabels:    map[string]string{"app.kubernetes.io/part-of": "dynawire"},
		RESTConfig:      c.RESTConfig,
		CommonName:      "dynawire-webhook-ca",
		CADuration:      c.CADuration,
		LeafDuration:    c.LeafDuration,
	}
	return &SelfManaged{
		config:    c,
		authority: a,
		leaf:      &cmtls.DynamicSource{DNSNames: c.DNSNames, Authority: a, RetryInterval: 100 * time.Millisecond},
	}
}

// GetCertificate implements Source.
func (s *SelfManaged) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.leaf.GetCertificate(hello)
}

// Start implements Source.
func (s *SelfManaged) Start(ctx context.Context) error {
	secrets, err := corev1client.NewForConfig(s.config.RESTConfig)
	if err != nil {
		return fmt.Errorf("make a client for secret %s/%s: %w", s.config.Namespace, s.config.Secret, err)
	}
	// Registered before the authority runs, so that no change is missed.
	rotated := make(chan struct{}, 1)
	s.authority.WatchRotation(rotated)
	defer s.authority.StopWatchingRotation(rotated)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.leaf.Start(ctx) })
	group.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-rotated:
				s.readBundle(ctx, secrets.Secrets(s.config.Namespace))
			}
		}
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("keep the serving certificate of %s/%s: %w", s.config.Namespace, s.config.Secret, err)
	}
	return nil
}

// readBundle reads the CAs from the Secret, again and again until it succeeds or ctx ends. The Secret may be newer than
// the change that is being followed; then another change is on its way.
func (s *SelfManaged) readBundle(ctx context.Context, secrets corev1client.SecretInterface) {
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		secret, err := secrets.Get(ctx, s.config.Secret, metav1.GetOptions{})
		if err != nil {
			return apierrors.IsNotFound(err), nil
		}
		if pem := secret.Data[caKey]; len(pem) > 0 {
			s.set(pem)
		}
		return true, nil
	})
}
