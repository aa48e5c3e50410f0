package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is the flags of the commands that look at a live cluster: kubectl's own.
type cluster struct {
	kubeconfig, context, namespace string
}

func (c *cluster) flags(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file; else KUBECONFIG, else ~/.kube/config")
	f.StringVar(&c.context, "context", "", "context of the kubeconfig; else its current one")
	f.StringVarP(&c.namespace, "namespace", "n", "", "Kubernetes namespace; else the context's")
}

// connect says how to reach the cluster, and the Kubernetes namespace to look in. It asks nobody.
func (c *cluster) connect() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	overrides.Context.Namespace = c.namespace
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("find a cluster: %w", err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("find a cluster: %w", err)
	}
	return config, namespace, nil
}
