package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVersions(t *testing.T) {
	for name, tc := range map[string]struct {
		list string
		want Versions
		fail string
	}{
		"both":    {list: "k8s.io/kubernetes v1.36.3\ngo.etcd.io/etcd/server/v3 v3.6.8\n", want: Versions{"v1.36.3", "v3.6.8"}},
		"no etcd": {list: "k8s.io/kubernetes v1.36.3\n", fail: "pins no version"},
		"nothing": {fail: "pins no version"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseVersions(tc.list)
			if tc.fail != "" {
				require.ErrorContains(t, err, tc.fail)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestVersionsAreThoseOfThisModule(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	got, err := ReadVersions(t.Context(), "../..")
	require.NoError(t, err)
	require.Contains(t, string(mod), kubernetesModule+" "+got.Kubernetes+"\n")
	require.Contains(t, string(mod), etcdModule+" "+got.Etcd+"\n")
}

func TestStagingModulesFollowKubernetes(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	versions, err := ReadVersions(t.Context(), "../..")
	require.NoError(t, err)
	want := "v0" + strings.TrimPrefix(versions.Kubernetes, "v1")
	for line := range strings.Lines(string(mod)) {
		if name, version, found := strings.Cut(strings.TrimSpace(line), " => "); found {
			require.Equal(t, name+" "+want, version)
		}
	}
}

func TestLinkerFlags(t *testing.T) {
	flags := Versions{Kubernetes: "v1.36.3"}.linkerFlags()
	for _, want := range []string{"gitVersion=v1.36.3", "gitMajor=1", "gitMinor=36"} {
		require.Contains(t, flags, want)
	}
}

func TestSetsHoldEachOther(t *testing.T) {
	names := func(s Set) (list []string) {
		for _, binary := range s.Binaries() {
			list = append(list, binary.Name)
		}
		return list
	}
	require.Equal(t, []string{"kubectl", "etcd", "kube-apiserver"}, names(Envtest))
	require.Subset(t, names(ControlPlane), names(Envtest))
	require.Subset(t, names(Node), names(ControlPlane))
	require.Contains(t, names(Node), "kubelet")
	require.NotContains(t, names(ControlPlane), "kubelet")
}

func TestMissingIsWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	require.Len(t, missing(dir, Envtest), 3)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "etcd"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl.partial"), nil, 0o600))
	require.Len(t, missing(dir, Envtest), 2, "a partial binary is none")
}
