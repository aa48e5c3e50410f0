package local

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/test/cluster/internal/build"
	"github.com/dynawire/dynawire/test/cluster/internal/repo"
)

func TestNodeConfiguration(t *testing.T) {
	for _, file := range []string{"kubelet.yaml", "containerd.toml", "cni.conflist"} {
		got, err := render(file, goldenLayout(t).nodeConfig())
		require.NoError(t, err)
		golden(t, file, got)
	}
}

func TestComponents(t *testing.T) {
	for name, state := range map[string]*State{
		"node":          {Ports: Ports{APIServer: 40001}, Tokens: map[string]string{}},
		"control-plane": {ControlPlaneOnly: true, Ports: Ports{40001, 40002, 40003, 40004, 40005}, Tokens: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{Layout: goldenLayout(t), state: state, binaries: "/bin-cache"}
			list, err := c.components()
			require.NoError(t, err)
			self, err := os.Executable()
			require.NoError(t, err)
			var out strings.Builder
			for _, comp := range list {
				command := strings.Join(append(append([]string{}, comp.enter...), comp.argv...), "\n    ")
				out.WriteString(comp.name + ":\n    " + strings.ReplaceAll(command, self, "THIS-PROGRAM") + "\n")
			}
			golden(t, "components-"+name, []byte(out.String()))
		})
	}
}

func TestTokenFile(t *testing.T) {
	golden(t, "tokens.csv", tokenFile("example", map[string]string{
		userAdmin: "a", userControllerManager: "b", userScheduler: "c", userKubelet: "d", userKubeProxy: "e"}))
}

func TestKubeconfigNeedsNoOtherFile(t *testing.T) {
	data, err := kubeconfig("example", "https://127.0.0.1:40001", []byte("CA"), "admin", "secret")
	require.NoError(t, err)
	golden(t, "kubeconfig", data)
}

func TestPrepare(t *testing.T) {
	c := newTestCluster(t)
	opts := UpOptions{ControlPlaneOnly: true}
	require.NoError(t, c.prepare(t.Context(), opts, build.Versions{Kubernetes: "v1.36.3"}))

	t.Run("the server's certificate is good for its addresses", func(t *testing.T) {
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(mustRead(t, c.pki("ca.crt"))))
		block, _ := pem.Decode(mustRead(t, c.pki("apiserver.crt")))
		cert, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		for _, name := range []string{"127.0.0.1", nodeAddress, firstServiceIP, "kubernetes.default.svc"} {
			_, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: time.Now().Add(24 * time.Hour)})
			require.NoError(t, err, name)
		}
	})
	t.Run("secrets are the owner's alone", func(t *testing.T) {
		for _, file := range []string{c.Kubeconfig(), c.stateFile(), c.pki("ca.key"), c.conf("tokens.csv")} {
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
		}
	})
	t.Run("a second time changes nothing", func(t *testing.T) {
		files := []string{c.Kubeconfig(), c.stateFile(), c.pki("ca.crt"), c.pki("apiserver.key")}
		var before [][]byte
		for _, file := range files {
			before = append(before, mustRead(t, file))
		}
		again, err := Open(c.paths, c.Name, c.out)
		require.NoError(t, err)
		require.NoError(t, again.prepare(t.Context(), opts, build.Versions{Kubernetes: "v1.36.3"}))
		for i, file := range files {
			require.Equal(t, before[i], mustRead(t, file), file)
		}
	})
	t.Run("another kind or version is refused", func(t *testing.T) {
		err := c.prepare(t.Context(), UpOptions{}, build.Versions{Kubernetes: "v1.36.3"})
		require.ErrorContains(t, err, "exists as a control plane without a node")
		err = c.prepare(t.Context(), opts, build.Versions{Kubernetes: "v1.37.0"})
		require.ErrorContains(t, err, "runs Kubernetes v1.36.3 and go.mod now says v1.37.0")
	})
}

func TestOpen(t *testing.T) {
	c := newTestCluster(t)
	require.False(t, c.Exists())
	require.ErrorContains(t, c.RequireExists(), "start it with `up --name unit`")
	require.NoError(t, writeFile(c.stateFile(), []byte("{"), 0o600))
	_, err := Open(c.paths, c.Name, c.out)
	require.ErrorContains(t, err, "`down --name unit` removes it")
}

func TestLayout(t *testing.T) {
	t.Run("names", func(t *testing.T) {
		for name, ok := range map[string]bool{
			"dynawire": true, "a": true, "e2e-1": true, strings.Repeat("a", maxName): true,
			"": false, "-a": false, "a-": false, "A": false, "a/b": false, "..": false, "a_b": false, strings.Repeat("a", maxName+1): false,
		} {
			_, err := NewLayout(repo.Paths{Cache: "/c"}, name)
			require.Equal(t, ok, err == nil, name)
		}
	})
	t.Run("sockets are short in a deep checkout", func(t *testing.T) {
		l, err := NewLayout(repo.Paths{Cache: strings.Repeat("/directory", 30)}, strings.Repeat("n", maxName))
		require.NoError(t, err)
		for _, socket := range []string{
			l.containerdSocket() + ".ttrpc",
			l.Data + "/kubelet/pod-resources/kubelet.sock",
			l.Data + "/kubelet/plugins_registry/x.sock",
		} {
			require.Less(t, len(socket), 108, socket)
		}
	})
	t.Run("two checkouts do not share a cluster", func(t *testing.T) {
		one, err := NewLayout(repo.Paths{Cache: "/one"}, "same")
		require.NoError(t, err)
		two, err := NewLayout(repo.Paths{Cache: "/two"}, "same")
		require.NoError(t, err)
		require.NotEqual(t, one.ID, two.ID)
		require.NotEqual(t, one.Run, two.Run)
	})
}

func TestFreePortsDiffer(t *testing.T) {
	ports, err := freePorts(5)
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, port := range ports {
		require.False(t, seen[port])
		seen[port] = true
	}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}
