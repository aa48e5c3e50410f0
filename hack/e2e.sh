#!/usr/bin/env bash
# Brings a cluster up, installs dynawire and runs the e2e tests against it. KUBECONFIG names a cluster of your own that
# has the images; then nothing is brought up or taken down.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cluster.sh

name=${1:-dynawire-test}
if [ -z "${KUBECONFIG:-}" ]; then
  [ -n "${KEEP:-}" ] || trap '"$CLUSTER" down --name "$name"' EXIT
  local_cluster "$name"
fi
install_dynawire test/e2e/install
# Tests that run in parallel wait, most of the time.
go test -tags e2e -count=1 -timeout 20m -parallel 4 "${@:2}" ./test/e2e/...
