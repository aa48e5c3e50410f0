package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Where the manifests put the server, and as whom it runs there.
const (
	SystemNamespace = "dynawire-system"
	ServerAccount   = "system:serviceaccount:" + SystemNamespace + ":dynawire"
)

// WriteKubeconfig lets a process act as the server's ServiceAccount.
func (c *ControlPlane) WriteKubeconfig(path string) error {
	k := clientcmdapi.NewConfig()
	k.Clusters["test"] = &clientcmdapi.Cluster{Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}
	k.AuthInfos["test"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: c.Config.CertData, ClientKeyData: c.Config.KeyData, Impersonate: ServerAccount,
		ImpersonateGroups: []string{"system:serviceaccounts", "system:serviceaccounts:" + SystemNamespace, "system:authenticated"},
	}
	k.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	k.CurrentContext = "test"
	return clientcmd.WriteToFile(*k, path)
}

// Install applies the manifests, with the webhooks pointed at a local server.
func (c *ControlPlane) Install(ctx context.Context, s *Server) error {
	kustomize := exec.CommandContext(ctx, c.Kubectl(), "kustomize", filepath.Join(root(), "manifests", "base"))
	kustomize.Stderr = os.Stderr
	out, err := kustomize.Output()
	if err != nil {
		return fmt.Errorf("render the manifests: %w", err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the manifests: %w", err)
		}
		if strings.HasSuffix(o.GetKind(), "WebhookConfiguration") {
			if err := pointAt(o, s.Port); err != nil {
				return err
			}
		}
		apply := client.ApplyConfigurationFromUnstructured(o)
		if err := c.Client.Apply(ctx, apply, client.FieldOwner("installer"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
}

// pointAt replaces the Service of every webhook by a URL.
func pointAt(o *unstructured.Unstructured, port int) error {
	hooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, h := range hooks {
		hook := h.(map[string]any)
		var clientConfig admissionv1.WebhookClientConfig
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(hook["clientConfig"].(map[string]any), &clientConfig)
		if err != nil {
			return err
		}
		hook["clientConfig"] = map[string]any{"url": "https://localhost:" + strconv.Itoa(port) + *clientConfig.Service.Path}
	}
	return unstructured.SetNestedSlice(o.Object, hooks, "webhooks")
}
