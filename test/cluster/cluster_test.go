//go:build cluster

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/test/cluster/internal/image"
	"github.com/dynawire/dynawire/test/cluster/internal/local"
)

const (
	nodeCluster    = "selftest"
	controlCluster = "control-selftest" // no name is the start of the other
)

// TestCluster drives the program as a user does. Its parts follow on each other:
// the first that fails ends it.
func TestCluster(t *testing.T) {
	p := newProgram(t)
	p.run(t, "down", "--name", nodeCluster)
	p.run(t, "down", "--name", controlCluster)
	t.Cleanup(func() {
		p.run(t, "down", "--name", nodeCluster)
		p.run(t, "down", "--name", controlCluster)
	})
	for _, step := range []struct {
		name string
		test func(*testing.T, *program)
	}{
		{"up makes a cluster with a node", upNode},
		{"a second cluster runs beside it", upControlPlane},
		{"up on a running cluster does nothing", upAgain},
		{"a deployment of a Go image becomes ready", deploy},
		{"its EndpointSlice follows its probe", flip},
		{"logs, exec and port-forward pass the forwarder", streams},
		{"the API server calls a webhook through its Service", webhook},
		{"up repairs what was killed", repair},
		{"down removes all of it, also without its state", down},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.test(t, p) }) {
			t.FailNow()
		}
	}
}

func upNode(t *testing.T, p *program) {
	p.run(t, "up", "--name", nodeCluster)
	require.Contains(t, p.kubectl(t, "get", "nodes"), " Ready ")
}

func upControlPlane(t *testing.T, p *program) {
	p.run(t, "up", "--control-plane-only", "--name", controlCluster)
	require.Len(t, p.status(t, controlCluster).Components, 4)
	require.True(t, p.status(t, nodeCluster).Running)
}

func upAgain(t *testing.T, p *program) {
	before := p.status(t, nodeCluster)
	require.Contains(t, p.run(t, "up", "--name", nodeCluster), "running already")
	require.Equal(t, before, p.status(t, nodeCluster))
}

func deploy(t *testing.T, p *program) {
	archive := filepath.Join(t.TempDir(), "testapp.tar")
	opts := image.GoOptions{Root: ".", Packages: []string{"./testapp"}, Tag: "local/testapp:selftest", Output: archive}
	require.NoError(t, image.BuildGo(t.Context(), opts, io.Discard))
	require.Contains(t, p.run(t, "load-image", "--name", nodeCluster, archive), "loading image")
	require.Contains(t, p.run(t, "load-image", "--name", nodeCluster, archive), "loaded already")

	p.kubectl(t, "apply", "-f", "testdata/testapp.yaml")
	p.kubectl(t, "rollout", "status", "deployment/testapp", "--timeout=60s")
	p.eventually(t, "hello from testapp-", "get", "--raw", "/api/v1/namespaces/default/services/testapp:http/proxy/")
}

func flip(t *testing.T, p *program) {
	ready := []string{"get", "endpointslices", "-l", "kubernetes.io/service-name=testapp", "-o", "jsonpath={.items[0].endpoints[0].conditions.ready}"}
	pod := p.pod(t)
	for _, want := range []string{"false", "true"} {
		p.kubectl(t, "get", "--raw", "/api/v1/namespaces/default/pods/"+pod+":8080/proxy/flip")
		p.eventually(t, want, ready...)
	}
}

func streams(t *testing.T, p *program) {
	pod := p.pod(t)
	require.Contains(t, p.kubectl(t, "logs", pod), "serving")
	// The image holds one program, which cannot serve twice: its answer shows that it ran.
	out, err := p.command(p.tool("kubectl"), "--kubeconfig", p.kubeconfig, "exec", pod, "--", "/testapp").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "address already in use")
	require.Contains(t, p.portForward(t, pod), "hello from "+pod)
}

func webhook(t *testing.T, p *program) {
	ca := p.kubectl(t, "get", "--raw", "/api/v1/namespaces/default/services/testapp:http/proxy/ca")
	config, err := os.ReadFile("testdata/webhook.yaml")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "webhook.yaml")
	config = bytes.ReplaceAll(config, []byte("CA_BUNDLE"), []byte(base64.StdEncoding.EncodeToString([]byte(ca))))
	require.NoError(t, os.WriteFile(file, config, 0o600))
	p.kubectl(t, "apply", "-f", file)
	require.Eventually(t, func() bool { // the API server learns of webhooks a moment later
		p.kubectl(t, "delete", "configmap", "seen", "--ignore-not-found")
		p.kubectl(t, "create", "configmap", "seen")
		return p.kubectl(t, "get", "configmap", "seen", "-o", "jsonpath={.metadata.labels.seen}") == "true"
	}, 30*time.Second, 200*time.Millisecond)
}

func repair(t *testing.T, p *program) {
	before := p.status(t, nodeCluster)
	for _, component := range before.Components {
		if component.Name == "kubelet" || component.Name == "kube-apiserver" {
			process, err := os.FindProcess(component.PID)
			require.NoError(t, err)
			require.NoError(t, process.Kill())
		}
	}
	_, err := p.command(p.path, "status", "--name", nodeCluster).Output()
	require.Error(t, err, "status fails while something is down")
	p.run(t, "up", "--name", nodeCluster)
	after := p.status(t, nodeCluster)
	require.True(t, after.Running)
	require.Equal(t, before.Components[0], after.Components[0], "etcd went on running")
	p.eventually(t, "hello from testapp-", "get", "--raw", "/api/v1/namespaces/default/services/testapp:http/proxy/")
}

func down(t *testing.T, p *program) {
	status := p.status(t, nodeCluster)
	require.NotEmpty(t, leftovers(t, nodeCluster))
	require.NoError(t, os.RemoveAll(filepath.Join(filepath.Dir(status.Kubeconfig), "pids")))
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(status.Kubeconfig), "cluster.json")))
	p.run(t, "down", "--name", nodeCluster)
	require.Empty(t, leftovers(t, nodeCluster))
	require.NoDirExists(t, filepath.Dir(status.Kubeconfig))

	require.True(t, p.status(t, controlCluster).Running, "the other cluster goes on running")
	p.run(t, "down", "--name", controlCluster)
	require.Empty(t, leftovers(t, controlCluster))
	p.run(t, "down", "--name", controlCluster)
}

// leftovers lists processes, mounts, namespaces, cgroups and directories of a
// cluster, found by its id wherever it shows.
func leftovers(t *testing.T, name string) []string {
	t.Helper()
	id := "dynawire-" + name + "-??????"
	var found []string
	for _, pattern := range []string{"/run/netns/", "/run/dynawire/", "/var/lib/dynawire/", "/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		paths, err := filepath.Glob(pattern + id)
		require.NoError(t, err)
		found = append(found, paths...)
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range append(files, "/proc/self/mountinfo") {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte("dynawire-"+name+"-")) {
			found = append(found, file)
		}
	}
	return found
}

// program is the program under test with the tools that it built.
type program struct {
	path, bin, kubeconfig string
	// command makes a command that ends with the test, cleanup included.
	command func(name string, args ...string) *exec.Cmd
}

func newProgram(t *testing.T) *program {
	t.Helper()
	// Not the test's own context: it ends before the cleanup that uses it.
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Minute)
	t.Cleanup(cancel)
	p := &program{path: filepath.Join(t.TempDir(), "cluster"), command: func(name string, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, name, args...)
	}}
	out, err := p.command("go", "build", "-o", p.path, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	dir, err := p.command(p.path, "build").Output()
	require.NoError(t, err)
	p.bin = strings.TrimSpace(string(dir))
	return p
}

func (p *program) tool(name string) string { return filepath.Join(p.bin, name) }

func (p *program) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.command(p.path, args...).CombinedOutput()
	require.NoError(t, err, "cluster %v: %s", args, out)
	if args[0] == "up" && !strings.Contains(strings.Join(args, " "), controlCluster) {
		path, err := p.command(p.path, "kubeconfig", "--name", nodeCluster).Output()
		require.NoError(t, err)
		p.kubeconfig = strings.TrimSpace(string(path))
	}
	return string(out)
}

func (p *program) status(t *testing.T, name string) local.Status {
	t.Helper()
	out, err := p.command(p.path, "status", "--name", name, "-o", "json").Output()
	require.NoError(t, err)
	var status local.Status
	require.NoError(t, json.Unmarshal(out, &status))
	return status
}

func (p *program) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.command(p.tool("kubectl"), append([]string{"--kubeconfig", p.kubeconfig}, args...)...).CombinedOutput()
	require.NoError(t, err, "kubectl %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (p *program) eventually(t *testing.T, want string, args ...string) {
	t.Helper()
	var last []byte
	require.Eventually(t, func() bool {
		last, _ = p.command(p.tool("kubectl"), append([]string{"--kubeconfig", p.kubeconfig}, args...)...).CombinedOutput()
		return strings.Contains(string(last), want)
	}, 30*time.Second, 100*time.Millisecond, "kubectl %v never said %q; last: %s", args, want, &last)
}

func (p *program) pod(t *testing.T) string {
	t.Helper()
	return p.kubectl(t, "get", "pods", "-l", "app=testapp", "-o", "jsonpath={.items[0].metadata.name}")
}

func (p *program) portForward(t *testing.T, pod string) string {
	t.Helper()
	cmd := p.command(p.tool("kubectl"), "--kubeconfig", p.kubeconfig, "port-forward", "pod/"+pod, ":8080")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	// It says "Forwarding from 127.0.0.1:PORT -> 8080".
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	address := strings.Fields(line)[2]
	resp, err := http.Get("http://" + address + "/")
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return string(body)
}
