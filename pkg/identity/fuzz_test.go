package identity_test

import (
	"strings"
	"testing"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Words are one a line; variables NAME=value, one a line. Whatever they are, what is known is proven or a default.
func FuzzArguments(f *testing.F) {
	f.Add("python3\n-m\ndynamo.vllm\n--namespace\n$(A)-x\n--endpoint=dyn://a.b.c", "A=b\nDYN_NAMESPACE=$(A)$$(A)")
	f.Add("env\n-u\nA\nB=c\npython3\n-um\ndynamo.frontend\n--namespace-\np\n--no-kserve-grpc-server", "DYN_HTTP_PORT=1")
	f.Add("tini\n--\n/bin/bash\n-euo\npipefail\n-c\nexport A=1; exec python3 -m dynamo.trtllm --nam \"$A\" $B \"$@\"\nsh\n--modality=image_diffusion", "B=x y")
	f.Add("timeout\n-k\n1\n2\nmpirun\n-n\n2\ntrtllm-llmapi-launch\npython3\n-Wd\n-X\nx\n-mdynamo.trtllm\n--\n--namespace\nx", "")
	f.Add("python3\n-m\ndynamo.router\n--end\na.b.c", "DYN_ROUTER_ENDPOINT=$(DYN_NAMESPACE)\nDYN_NAMESPACE_WORKER_SUFFIX=$(")
	f.Add("python3\n-m\ndynamo.mocker\n--end\ndyn://b..c", "DYN_NAMESPACE=a.b\nDYN_NAMESPACE_WORKER_SUFFIX=x.$(Y)")
	f.Add("uv\nrun\n-m\ndynamo.planner\n--config={\"namespace\":\"$(A)\"}", "A=b")
	f.Fuzz(func(t *testing.T, words, vars string) {
		c := pod.Container{Args: strings.Split(words, "\n")}
		for line := range strings.SplitSeq(vars, "\n") {
			name, value, _ := strings.Cut(line, "=")
			c.Env = append(c.Env, pod.EnvVar{Name: name, Value: value})
		}
		r := identity.Resolve(&pod.Pod{Spec: pod.Spec{Containers: []pod.Container{c}}}, wiring.Settings{})
		for _, v := range []identity.Value{r.Identity.Namespace, r.Identity.Component, r.Identity.Endpoint, r.Identity.Role} {
			if v.Known() && (v.Sure == identity.Unknown || v.How == "") {
				t.Fatalf("%+v", v)
			}
			if strings.Contains(v.Text, "\x00") && !strings.Contains(words+vars, "\x00") {
				t.Fatalf("hidden text is taken for known: %+v", v)
			}
			_ = v.Field.String()
		}
		for i := range r.Processes {
			r.Processes[i].Health(r.Identity.Role.Text)
			r.Processes[i].HealthPath(r.Identity.Role.Text)
		}
	})
}
