package certs

import (
	"bytes"
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	applyv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// fieldOwner owns caBundle and nothing else, so that whoever applies the manifests never sees a conflict or a drift.
const fieldOwner = "dynawire-cabundle"

// Configurations are the names of our webhook configurations; an empty name is none.
type Configurations struct {
	Mutating, Validating string
}

// configuration is one webhook configuration: what the reconciler's queue holds.
type configuration struct {
	kind, name string
}

const (
	mutating   = "MutatingWebhookConfiguration"
	validating = "ValidatingWebhookConfiguration"
)

// Publisher keeps the bundle of a Source in every webhook of our configurations, and leaves all else there alone. It
// runs in every replica, leader or not: all write the same bundle, and admission must not wait for an election.
type Publisher struct {
	Client         client.Client
	Source         Source
	Configurations Configurations
}

// SetupWithManager registers the reconciler.
func (p *Publisher) SetupWithManager(mgr ctrl.Manager) error {
	everyReplica := false
	err := builder.TypedControllerManagedBy[configuration](mgr).
		Named("cabundle").
		Watches(&admissionv1.MutatingWebhookConfiguration{}, p.enqueue(mutating)).
		Watches(&admissionv1.ValidatingWebhookConfiguration{}, p.enqueue(validating)).
		WatchesRawSource(source.TypedFunc[configuration](p.followSource)).
		WithOptions(controller.TypedOptions[configuration]{NeedLeaderElection: &everyReplica}).
		Complete(p)
	if err != nil {
		return fmt.Errorf("set up the caBundle reconciler: %w", err)
	}
	return nil
}

func (p *Publisher) enqueue(kind string) handler.TypedEventHandler[client.Object, configuration] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []configuration {
		return []configuration{{kind, o.GetName()}}
	})
}

// followSource enqueues both configurations whenever the bundle changes.
func (p *Publisher) followSource(ctx context.Context, queue workqueue.TypedRateLimitingInterface[configuration]) error {
	go func() {
		for {
			changed := p.Source.Changed()
			queue.Add(configuration{mutating, p.Configurations.Mutating})
			queue.Add(configuration{validating, p.Configurations.Validating})
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}()
	return nil
}

// Reconcile writes the bundle into one configuration if it is not there.
func (p *Publisher) Reconcile(ctx context.Context, c configuration) (ctrl.Result, error) {
	bundle := p.Source.Bundle()
	if len(bundle) == 0 || c.name == "" ||
		c.name != p.Configurations.Mutating && c.kind == mutating ||
		c.name != p.Configurations.Validating && c.kind == validating {
		return ctrl.Result{}, nil
	}
	config, hooks, err := read(ctx, p.Client, c)
	if err != nil || config == nil {
		return ctrl.Result{}, err
	}
	stale := false
	for _, h := range hooks {
		stale = stale || !bytes.Equal(h.client.CABundle, bundle)
	}
	if !stale {
		return ctrl.Result{}, nil
	}
	// The UID makes the call fail where the configuration went away meanwhile, instead of making a new one.
	err = p.Client.Apply(ctx, patchFor(c, config.GetUID(), hooks, bundle), client.FieldOwner(fieldOwner), client.ForceOwnership)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("write caBundle into %s %s: %w", c.kind, c.name, err)
	}
	ctrl.LoggerFrom(ctx).Info("caBundle written", "kind", c.kind, "name", c.name)
	return ctrl.Result{}, nil
}

// hook is the part of a webhook that both kinds share.
type hook struct {
	name   string
	client admissionv1.WebhookClientConfig
}

// read returns a configuration and its webhooks, or nothing where it does not exist.
func read(ctx context.Context, reader client.Reader, c configuration) (metav1.Object, []hook, error) {
	key := client.ObjectKey{Name: c.name}
	var hooks []hook
	var object client.Object
	var err error
	switch c.kind {
	case mutating:
		m := &admissionv1.MutatingWebhookConfiguration{}
		err = reader.Get(ctx, key, m)
		for _, h := range m.Webhooks {
			hooks = append(hooks, hook{h.Name, h.ClientConfig})
		}
		object = m
	default:
		v := &admissionv1.ValidatingWebhookConfiguration{}
		err = reader.Get(ctx, key, v)
		for _, h := range v.Webhooks {
			hooks = append(hooks, hook{h.Name, h.ClientConfig})
		}
		object = v
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read %s %s: %w", c.kind, c.name, err)
	default:
		return object, hooks, nil
	}
}

func patchFor(c configuration, uid types.UID, hooks []hook, bundle []byte) runtime.ApplyConfiguration {
	trust := applyv1.WebhookClientConfig().WithCABundle(bundle...)
	if c.kind == mutating {
		m := applyv1.MutatingWebhookConfiguration(c.name).WithUID(uid)
		for _, h := range hooks {
			m.WithWebhooks(applyv1.MutatingWebhook().WithName(h.name).WithClientConfig(trust))
		}
		return m
	}
	v := applyv1.ValidatingWebhookConfiguration(c.name).WithUID(uid)
	for _, h := range hooks {
		v.WithWebhooks(applyv1.ValidatingWebhook().WithName(h.name).WithClientConfig(trust))
	}
	return v
}
