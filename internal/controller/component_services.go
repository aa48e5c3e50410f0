package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// services are the component's Services of ours, and whether one of the user's does the job: Dynamo finds slices by the
// discovery label, our library by the component's labels too, and not-ready addresses must stay out of both.
func (r *components) services(ctx context.Context, c component, s shape) ([]corev1.Service, bool, error) {
	all := &corev1.ServiceList{}
	if err := r.cached.List(ctx, all, client.InNamespace(c.namespace)); err != nil {
		return nil, false, fmt.Errorf("list services of namespace %s: %w", c.namespace, err)
	}
	var current []corev1.Service
	inCharge := false
	for i := range all.Items {
		service := &all.Items[i]
		of, _ := componentOf(c.namespace, service.Labels)
		switch {
		case of != c:
			continue
		case isOurs(service):
			current = append(current, *service)
			continue
		case service.Spec.PublishNotReadyAddresses:
			continue
		}
		fits, err := r.fits(ctx, service, c, s)
		if err != nil {
			return nil, false, err
		}
		inCharge = inCharge || fits
	}
	return current, inCharge, nil
}

// fits is whether a Service of the user's selects every pod of the component. The cache does not hold what users select
// by, so the API server is asked for a pod that has another value of one of the labels: there are few such Services.
func (r *components) fits(ctx context.Context, s *corev1.Service, c component, sh shape) (bool, error) {
	if sh == noPods || len(s.Spec.Selector) == 0 {
		return false, nil
	}
	for key, value := range s.Spec.Selector {
		other, err := labels.NewRequirement(key, selection.NotEquals, []string{value})
		if err != nil {
			return false, fmt.Errorf("read the selector of service %s/%s: %w", s.Namespace, s.Name, err)
		}
		pods := podMetadataList()
		selector := labels.SelectorFromSet(c.selector()).Add(*other)
		if err := r.live.List(ctx, pods, client.InNamespace(c.namespace), client.MatchingLabelsSelector{Selector: selector}, client.Limit(1)); err != nil {
			return false, fmt.Errorf("list pods of component %s in namespace %s: %w", c.name, c.namespace, err)
		}
		if len(pods.Items) > 0 {
			return false, nil
		}
	}
	return true, nil
}

// ensure makes the component's Service as it should be, under the name that it has, or the first one that is free.
func (r *components) ensure(ctx context.Context, c component, frontend bool, current []corev1.Service) error {
	if len(current) > 0 {
		service := &current[0]
		if err := r.removeAll(ctx, c, current[1:]); err != nil {
			return err
		}
		if isHeadless(service) == frontend {
			// An address cannot be given or taken: the Service is made anew.
			if err := r.remove(ctx, service); err != nil {
				return err
			}
		} else if upToDate(service, c, frontend) {
			return nil
		}
		return r.applyNamed(ctx, c, service.Name, frontend)
	}
	for _, name := range c.names() {
		whose, err := r.look(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &corev1.Service{})
		if err != nil {
			return err
		}
		if whose != foreign {
			return r.applyNamed(ctx, c, name, frontend)
		}
	}
	return fmt.Errorf("no name is free for the service of component %s/%s in namespace %s: tried %v", c.dynamoNamespace, c.name, c.namespace, c.names())
}

func (r *components) applyNamed(ctx context.Context, c component, name string, frontend bool) error {
	return r.apply(ctx, "Service", client.ObjectKey{Namespace: c.namespace, Name: name}, applyService(c, name, frontend))
}

// expire deletes the Services of a component that has had no pods for a while.
func (r *components) expire(ctx context.Context, c component, current []corev1.Service) (reconcile.Result, error) {
	if len(current) == 0 {
		r.busy(c)
		return reconcile.Result{}, nil
	}
	r.mu.Lock()
	since, ok := r.idle[c]
	if !ok {
		since = time.Now()
		r.idle[c] = since
	}
	r.mu.Unlock()
	if left := r.idleTTL - time.Since(since); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return reconcile.Result{}, r.removeAll(ctx, c, current)
}

// busy forgets that a component was idle.
func (r *components) busy(c component) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.idle, c)
}

func (r *components) removeAll(ctx context.Context, c component, services []corev1.Service) error {
	for i := range services {
		if err := r.remove(ctx, &services[i]); err != nil {
			return err
		}
	}
	r.busy(c)
	return nil
}
