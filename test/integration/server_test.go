//go:build integration

package integration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	systemNamespace = "dynawire-system"
	serverAccount   = "system:serviceaccount:" + systemNamespace + ":dynawire"
)

// server is a process of cmd/webhook that acts as the ServiceAccount of the manifests, and so may do no more than they
// say.
type server struct {
	name           string
	port           int
	health, metric string
	log            *output
	command        *exec.Cmd
	exited         chan error
}

// output is what a process has written.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func binary() string { return filepath.Join(workspace, "webhook") }

func build() error {
	c := exec.Command("go", "build", "-o", binary(), "./cmd/webhook")
	c.Dir = root()
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return nil
}

func newServer(name string) (*server, error) {
	s := &server{name: name, log: &output{}}
	var ports [3]int
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	s.port = ports[0]
	s.health = "127.0.0.1:" + strconv.Itoa(ports[1])
	s.metric = "127.0.0.1:" + strconv.Itoa(ports[2])
	return s, nil
}

func (s *server) start(flags ...string) error {
	kubeconfig := filepath.Join(workspace, s.name+".kubeconfig")
	if err := writeKubeconfig(kubeconfig); err != nil {
		return err
	}
	s.command = exec.Command(binary(), append([]string{
		"--kubeconfig", kubeconfig,
		"--namespace", systemNamespace,
		"--exclude-namespaces", "kube-system," + withoutReconciler,
		"--webhook-host", "127.0.0.1",
		"--webhook-port", strconv.Itoa(s.port),
		"--extra-dns-names", "localhost",
		"--health-address", s.health,
		"--metrics-address", s.metric,
		"--shutdown-delay", "1s",
		"--idle-service-ttl", "2s",
		"--account-wait", "1s",
	}, flags...)...)
	s.command.Stdout, s.command.Stderr = s.log, s.log
	if err := s.command.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	s.exited = make(chan error, 1)
	go func() { s.exited <- s.command.Wait() }()
	return nil
}

// stop ends the process as the kubelet does.
func (s *server) stop() error {
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-s.exited:
		return err
	case <-time.After(30 * time.Second):
		_ = s.command.Process.Kill()
		return fmt.Errorf("the server did not stop")
	}
}

func (s *server) waitReady() error {
	deadline := time.Now().Add(60 * time.Second)
	for {
		code, body := get("http://" + s.health + "/readyz?verbose")
		if code == http.StatusOK {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("server %s is not ready: %d %s", s.name, code, body)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// get is the status and the body of a page; 0 where there is no answer.
func get(url string) (int, string) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// writeKubeconfig lets the server act as its ServiceAccount.
func writeKubeconfig(path string) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	c.AuthInfos["test"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Impersonate: serverAccount,
		ImpersonateGroups: []string{"system:serviceaccounts", "system:serviceaccounts:" + systemNamespace, "system:authenticated"},
	}
	c.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	c.CurrentContext = "test"
	return clientcmd.WriteToFile(*c, path)
}

// install applies the manifests, with the webhooks pointed at a local server.
func install(s *server) error {
	c := exec.Command(filepath.Join(assets, "kubectl"), "kustomize", filepath.Join(root(), "manifests", "base"))
	c.Stderr = os.Stderr
	out, err := c.Output()
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
			if err := pointAt(o, s.port); err != nil {
				return err
			}
		}
		apply := client.ApplyConfigurationFromUnstructured(o)
		if err := cluster.Apply(context.Background(), apply, client.FieldOwner("installer"), client.ForceOwnership); err != nil {
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
