# Sourced: what the demo and the e2e tests share.
CACHE=${DYNAWIRE_CACHE:-$PWD/.cache}
CLUSTER=$CACHE/bin/cluster
IMAGES=$CACHE/images

# local_cluster NAME: up, images loaded, KUBECONFIG and PATH set.
local_cluster() {
  "$CLUSTER" up --name "$1"
  "$CLUSTER" load-image --name "$1" "$IMAGES"/*.tar
  KUBECONFIG=$("$CLUSTER" kubeconfig --name "$1")
  PATH=$("$CLUSTER" build):$PATH
  export KUBECONFIG PATH
}

# install_dynawire [KUSTOMIZATION], and wait until it answers. The CRD of reports may be somebody else's.
install_dynawire() {
  kubectl get crd reports.openreports.io >/dev/null 2>&1 || kubectl create -k manifests/crds/openreports
  kubectl apply -k "${1:-manifests/overlays/local}"
  kubectl -n dynawire-system rollout status deployment/dynawire-webhook --timeout=180s
}
