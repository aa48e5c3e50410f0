package runtime_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a pod has to carry is part of the contract. hack/size.sh says how much it is.
func TestTheLibraryIsThin(t *testing.T) {
	const module = "github.com/dynawire/dynawire/"
	heavy := []string{
		"sigs.k8s.io/controller-runtime", "k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "k8s.io/client-go/tools/cache",
		"k8s.io/client-go/dynamic", "k8s.io/endpointslice", "k8s.io/component-base", "github.com/prometheus", "github.com/spf13", "go.uber.org/zap",
		"github.com/stretchr/testify", module + "internal", module + "pkg/mutate", module + "pkg/validate", module + "pkg/identity",
	}
	for pkg, forbidden := range map[string][]string{
		"pkg/runtime":              append([]string{"k8s.io/client-go", "k8s.io/api", "google.golang.org/grpc", "net/http/pprof"}, heavy...),
		"pkg/runtime/memory":       append([]string{"k8s.io/client-go", "k8s.io/api", "google.golang.org/grpc"}, heavy...),
		"pkg/runtime/kube":         append([]string{"google.golang.org/grpc"}, heavy...),
		"pkg/runtime/grpcresolver": append([]string{"k8s.io/client-go", "k8s.io/api"}, heavy...),
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+pkg).Output()
		require.NoError(t, err)
		for dep := range strings.Lines(string(out)) {
			dep = strings.TrimSpace(dep)
			for _, f := range forbidden {
				if dep == f || strings.HasPrefix(dep, f+"/") {
					assert.Failf(t, "too heavy", "%s imports %s", pkg, dep)
				}
			}
		}
	}
}
