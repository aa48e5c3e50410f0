#!/usr/bin/env bash
# The tour: what dynawire does, with the commands that one would type. `hack/demo.sh clean` removes all of it.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cluster.sh

name=${DEMO_CLUSTER:-dynawire}
ns=llm
own_cluster=${KUBECONFIG:-}

bold() { if [ -t 1 ]; then printf '\033[1m%s\033[0m\n' "$*"; else printf '%s\n' "$*"; fi; }
step() { printf '\n'; bold "== $*"; }
# run shows a command and runs it.
run() { bold "\$ $*"; bash -o pipefail -c "$*"; }

# until_true SECONDS WHAT COMMAND: waits, and says what it waited for when it gives up.
until_true() {
  local deadline=$((SECONDS + $1)) what=$2
  until bash -o pipefail -c "$3" >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || { echo "gave up waiting for $what; tried: $3" >&2; exit 1; }
    sleep 0.3
  done
}

clean() {
  if [ -n "$own_cluster" ]; then
    # The hooks first: without a server behind them they would refuse pods.
    kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration -l app.kubernetes.io/name=dynawire
    kubectl delete namespace "$ns" dynawire-system --ignore-not-found
    kubectl delete clusterrole,clusterrolebinding -l app.kubernetes.io/name=dynawire
    # The CRDs are others' as much as ours: that of Reports stays.
    if [ -z "$(kubectl get dynamoworkermetadatas -A -o name 2>/dev/null)" ]; then
      kubectl delete crd dynamoworkermetadatas.nvidia.com --ignore-not-found
    fi
  elif [ -x "$CLUSTER" ]; then
    "$CLUSTER" down --name "$name"
  fi
}

set_up() {
  make images DYNAMO_VERSIONS=1.6.1
  go build -o "$CACHE/bin/kubectl-dynawire" ./cmd/kubectl-dynawire # on the PATH it is a plugin of kubectl
  export PATH=$CACHE/bin:$PATH
  if [ -n "$own_cluster" ]; then
    echo "using your cluster: $(kubectl config current-context)"
    if [ -n "${LOAD_IMAGE:-}" ]; then for tar in "$IMAGES"/*.tar; do $LOAD_IMAGE "$tar"; done
    else echo "note: its nodes need the images of .cache/images; for kind: LOAD_IMAGE='kind load image-archive' KUBECONFIG=… make demo"; fi
  else
    local_cluster "$name"
  fi
  step "Install dynawire"
  bold "\$ kubectl create -k manifests/crds/openreports"
  bold "\$ kubectl apply -k manifests/overlays/local"
  install_dynawire
}

opt_in() {
  step "Opt a namespace in: one label"
  kubectl get namespace "$ns" >/dev/null 2>&1 || run kubectl create namespace "$ns"
  run kubectl label --overwrite namespace "$ns" nvidia.com/dynamo-discovery-enabled=true
  run kubectl annotate --overwrite namespace "$ns" dynawire.io/key-value=true

  step "Deploy Dynamo's own worker and frontend: nothing in them but image and command"
  run "grep -v '^#' examples/dynamo/worker.yaml"
  run kubectl -n "$ns" apply -f examples/dynamo/worker.yaml -f examples/dynamo/frontend.yaml
}

show_wiring() {
  step "What a pod gets: the same pod in a namespace without the label, and here"
  local pod="run worker --image docker.io/local/dynamo:1.6.1 --dry-run=server -o yaml --command -- python3 -m dynamo.mocker"
  bold "\$ diff <(kubectl -n default $pod) \\"
  bold "       <(kubectl -n $ns $pod)"
  noise='  uid:|creationTimestamp|^  namespace:|kube-api-access|generation:'
  diff -U0 <(kubectl -n default $pod | grep -vE "$noise") <(kubectl -n "$ns" $pod | grep -vE "$noise") | grep '^[+-] ' || true

  step "Its Service, the EndpointSlice that follows its readiness, and what the worker registered"
  run kubectl -n "$ns" rollout status deployment/worker deployment/frontend --timeout=120s
  until_true 30 "the worker's metadata" "kubectl -n $ns get dynamoworkermetadatas -o name | grep -q ."
  run kubectl -n "$ns" get pods,services,endpointslices,dynamoworkermetadatas
  run kubectl dynawire instances -n "$ns"
}

chat() {
  step "Ask Dynamo's frontend"
  bold "\$ kubectl -n $ns port-forward service/dynamo-frontend-service 18000:http &"
  kubectl -n "$ns" port-forward service/dynamo-frontend-service 18000:http >/dev/null &
  forward=$!
  until_true 60 "the model in the frontend's list" "curl -fsS http://localhost:18000/v1/models | grep -q tiny"
  run "curl -s http://localhost:18000/v1/models; echo"
  run "curl -s http://localhost:18000/v1/chat/completions -H 'Content-Type: application/json' -d '{\"model\":\"tiny\",\"max_tokens\":12,\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'; echo"
  kill $forward
}

go_programs() {
  step "Go programs on the library join in: a worker, and a frontend that subscribes to it"
  run kubectl -n "$ns" apply -f examples/worker/deployment.yaml -f examples/frontend/deployment.yaml
  run kubectl -n "$ns" rollout status deployment/go-backend deployment/go-frontend --timeout=120s
  bold "\$ kubectl -n $ns logs -f deployment/go-frontend"
  kubectl -n "$ns" logs -f deployment/go-frontend > >(sed -uE 's/.*"type":"([A-Za-z]+)","time":"[^T]*T([0-9:.]{12})[^"]*"(.*"pod":"([^"]*)")?.*/    | \2 \1 \4/') &
  local follow=$!
  sleep 2
  run kubectl -n "$ns" scale deployment/go-backend --replicas=3
  run kubectl -n "$ns" rollout status deployment/go-backend --timeout=120s
  sleep 2
  run kubectl -n "$ns" scale deployment/go-backend --replicas=1
  sleep 4
  bold "kill the one that is left; its Deployment makes another"
  run kubectl -n "$ns" delete pods -l app=go-backend --grace-period=0 --force
  run kubectl -n "$ns" rollout status deployment/go-backend --timeout=120s
  sleep 3
  kill $follow
  run "kubectl get --raw /api/v1/namespaces/$ns/services/dynamo-go-frontend-service:http/proxy/instances; echo"
  run "echo '{\"prompt\":\"Hello\"}' | kubectl create --raw /api/v1/namespaces/$ns/services/dynamo-go-frontend-service:http/proxy/generate -f -; echo"
}

refusal() {
  step "A mistake is refused, says how to mend it, and stays on record"
  run "grep -v '^#' examples/dynamo/inconsistent.yaml | sed -n '10,22p'"
  run kubectl -n "$ns" apply -f examples/dynamo/inconsistent.yaml
  until_true 30 "the Event" "kubectl -n $ns get events --field-selector reason=DynamoPodRefused -o name | grep -q ."
  run "kubectl -n $ns describe deployment inconsistent | sed -n '/^Events/,\$p'"
  run "kubectl -n $ns get events --field-selector reason=DynamoPodRefused"
  run "kubectl -n dynawire-system logs -l app.kubernetes.io/name=dynawire --tail=-1 | grep '\"refused\":true' | tail -1"
  until_true 30 "the Report" "kubectl dynawire audit -n $ns | grep -q refused"
  run kubectl dynawire audit -n "$ns"
  run kubectl -n "$ns" delete deployment inconsistent
}

farewell() {
  step "Go on"
  cat <<TEXT
The cluster is still running.
  export $([ -n "$own_cluster" ] || printf 'KUBECONFIG=%s ' "$KUBECONFIG")PATH=$CACHE/bin$([ -n "$own_cluster" ] || printf ':%s' "$("$CLUSTER" build)"):\$PATH
  kubectl -n $ns get pods --show-labels
  kubectl dynawire diagnose -n $ns backend
  kubectl -n $ns scale deployment/worker --replicas=2
  kubectl -n $ns port-forward service/dynamo-frontend-service 8000:http
Your own workloads: label their namespace, apply them. docs/ says what is wired and what is refused.
Clean up: make demo-clean
TEXT
}

if [ "${1:-}" = clean ]; then clean; exit; fi
set_up
opt_in
show_wiring
chat
go_programs
refusal
farewell
