package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/internal/drift"
	"github.com/dynawire/dynawire/internal/report/store"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// addDrift adds the scan for drift, which runs on the leader.
func addDrift(mgr ctrl.Manager, config *rest.Config, log logr.Logger, o options) error {
	if o.driftInterval == 0 {
		return nil
	}
	log = log.WithName("drift")
	reports, err := store.New(config, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	core, err := corev1client.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make a client for pods: %w", err)
	}
	dynamo, err := dynamoClient(mgr, config)
	if err != nil {
		return err
	}
	owners := &audit.Owners{Live: mgr.GetAPIReader()}
	c := drift.Config{
		Namespaces: func(ctx context.Context) ([]drift.Namespace, error) { return optedIn(ctx, mgr.GetClient(), o.excluded) },
		Source:     &drift.API{Core: core.RESTClient(), Dynamo: dynamo},
		Reports:    drift.Record{Store: reports, Owners: owners},
		Interval:   o.driftInterval, Log: log, Registerer: metrics.Registry,
	}
	if o.repairBudget > 0 {
		c.Repair = &drift.Repair{
			Budget: o.repairBudget, Log: log, Owners: owners, Events: mgr.GetEventRecorder("dynawire"),
			Pods: func(namespace string) drift.Evictor { return core.Pods(namespace) },
		}
	}
	if err := mgr.Add(drift.NewScanner(c)); err != nil {
		return fmt.Errorf("add the scan for drift: %w", err)
	}
	return nil
}

func dynamoClient(mgr ctrl.Manager, config *rest.Config) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	gv := v1alpha1.GroupVersion()
	c.GroupVersion, c.APIPath = &gv, "/apis"
	c.NegotiatedSerializer = serializer.NewCodecFactory(clientgoscheme.Scheme).WithoutConversion()
	dynamo, err := rest.RESTClientForConfigAndClient(c, mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", gv, err)
	}
	return dynamo, nil
}

// optedIn are the opted-in Namespaces that are served.
func optedIn(ctx context.Context, cached client.Reader, excluded []string) ([]drift.Namespace, error) {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	if err := cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	var out []drift.Namespace
	for i := range list.Items {
		ns := &list.Items[i]
		if slices.Contains(excluded, ns.Name) || ns.DeletionTimestamp != nil {
			continue
		}
		settings, _ := wiring.SettingsOf(ns.Annotations) // admission tells of what makes no sense there
		out = append(out, drift.Namespace{Name: ns.Name, Settings: settings})
	}
	return out, nil
}
