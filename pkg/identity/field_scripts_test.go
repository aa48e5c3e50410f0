package identity_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Launch scripts as people write them into a pod spec.
func TestScriptsFromTheField(t *testing.T) {
	for text, want := range map[string]string{
		"set -euo pipefail\ncd /workspace\nexport DYN_NAMESPACE=${TEAM:-alpha}-prod\nexec python3 -m dynamo.vllm \\\n  --model m \\\n  \"$@\"\n": inNamespace("alpha-prod/env"),
		"mkdir -p /x && cat > /x/c <<'EOF' && python3 -m dynamo.trtllm --namespace a\nhello $NS\nEOF\n":                                          inNamespace("a/argument"),
		"trap 'kill $PID' TERM\npython3 -m dynamo.vllm --namespace a &\nPID=$!\nwait $PID":                                                       inNamespace("a/argument"),
		"while ! curl -sf http://nats:8222; do sleep 1; done\nexec python3 -m dynamo.vllm --namespace a":                                         inNamespace("a/argument"),
		"exec > >(tee /log) 2>&1\nexec python3 -m dynamo.vllm --namespace a":                                                                     inNamespace("a/argument"),
		`[ -z "$DEBUG" ] || set -x; exec python3 -m dynamo.vllm --namespace a`:                                                                   inNamespace("a/argument"),
		`exec python3 -m dynamo.vllm --namespace "team-${HOSTNAME##*-}"`:                                                                         inNamespace("?/argument"),
		`if [ "$ENV" = prod ]; then NS=p; else NS=d; fi; exec python3 -m dynamo.vllm --namespace $NS`:                                            inNamespace("?/argument"),
		`case "$ROLE" in prefill) M=prefill;; *) M=decode;; esac; exec python3 -m dynamo.vllm --disaggregation-mode $M`:                          "dynamo/module-default ? generate/module-default ?",
		`ARGS=""; if [ -n "$LORA" ]; then ARGS="--enable-lora"; fi; python3 -m dynamo.vllm --namespace a $ARGS`:                                  "a/argument ?/argument ?/argument ?/argument",
		`uv run --active python -m dynamo.sglang --namespace a`:                                                                                  inNamespace("a/argument"),

		// Which of these runs, or whether anything does, only the running pod knows.
		`if [ "$LWS_WORKER_INDEX" = 0 ]; then python3 -m dynamo.vllm; else ray start --block; fi`: nothing,
		`main() { exec python3 -m dynamo.vllm --namespace a; }; main "$@"`:                        nothing,
		`while true; do python3 -m dynamo.vllm --namespace a; sleep 5; done`:                      nothing,
		`eval "python3 -m dynamo.vllm"`:                                                           nothing,
		"exit 0\npython3 -m dynamo.vllm":                                                          nothing,
		`ray start --address=$LEADER --block`:                                                     nothing,
	} {
		assert.Equal(t, want, whole(identity.Resolve(of(script(text)), wiring.Settings{})), text)
	}
	for text, follower := range map[string]bool{
		`python3 -m dynamo.sglang --nnodes $LWS_GROUP_SIZE --node-rank $LWS_WORKER_INDEX`: true,
		`RANK=${HOSTNAME##*-}; python3 -m dynamo.sglang --node-rank $RANK`:                true,
		`python3 -m dynamo.sglang --node-rank 1 --node-rank=0`:                            false,
	} {
		assert.Equal(t, follower, identity.Resolve(of(script(text)), wiring.Settings{}).Processes[0].Follower, text)
	}
}
