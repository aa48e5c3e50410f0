# `make help` lists what there is. Everything that is fetched or built is cached below .cache, which git ignores.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

CONTROLLER_GEN := sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
GOLANGCI_VERSION := v2.15.0

CACHE := $(CURDIR)/.cache
CLUSTER := $(CACHE)/bin/cluster
GOLANGCI := $(CACHE)/bin/golangci-lint-$(GOLANGCI_VERSION)
IMAGES := $(CACHE)/images
DYNAMO_VERSIONS := 1.6.1 1.5.1 1.3.1
TEST_CLUSTER ?= dynawire-test
export DYNAWIRE_CACHE := $(CACHE)

##@ Use

.PHONY: help
help: ## Show this.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: deps ## Bring a cluster up, install dynawire and walk through it. KUBECONFIG=… uses a cluster of your own.
	@$(CURDIR)/hack/demo.sh

.PHONY: demo-clean
demo-clean: ## Remove all that `make demo` made.
	@$(CURDIR)/hack/demo.sh clean

##@ Test

.PHONY: test
test: ## Everything: checks, unit, integration and e2e tests.
	@start=$$SECONDS; for part in verify test-unit test-integration test-e2e; do \
	  echo "=== make $$part ($$((SECONDS - start)) s so far)"; $(MAKE) --no-print-directory $$part || exit 1; done; \
	echo "=== all passed in $$((SECONDS - start)) s"

.PHONY: test-short
test-short: ## The inner loop: unit tests without the race detector.
	go test -short ./...
	go -C test/cluster test -short ./...

.PHONY: test-unit
test-unit: ## Unit tests with the race detector.
	go test -race ./...
	go -C test/cluster test -race ./...

.PHONY: test-integration
test-integration: deps $(CLUSTER) ## Tests against a real API server and etcd.
	KUBEBUILDER_ASSETS="$$($(CLUSTER) build --envtest)" go test -tags integration -count=1 -timeout 15m ./pkg/runtime/... ./test/integration/...

.PHONY: test-e2e
test-e2e: deps images ## Tests on a real node with the real Dynamo; the cluster goes when they end. KEEP=1 keeps it.
	@$(CURDIR)/hack/e2e.sh $(TEST_CLUSTER)

.PHONY: test-modules
test-modules: ## What is known of Dynamo's modules, against the real packages from PyPI; not part of `make test`.
	go test -tags modules -count=1 -timeout 20m -v ./test/modules | grep -E 'cases:|not compared|--- FAIL|^(ok|FAIL)'

.PHONY: bench
bench: ## The benchmarks, beside what they compare with.
	go test -run '^$$' -bench . -benchmem ./internal/admission ./pkg/...

.PHONY: bench-latency
bench-latency: deps $(CLUSTER) ## What a pod's creation costs through a real API server, beside a policy that does the same.
	KUBEBUILDER_ASSETS="$$($(CLUSTER) build --envtest)" go test -tags bench -count=1 -timeout 30m -v -run TestLatency ./test/bench

.PHONY: bench-memory
bench-memory: deps $(CLUSTER) ## The server's resident set with 5,000 pods, idle and under load.
	KUBEBUILDER_ASSETS="$$($(CLUSTER) build --envtest)" go test -tags bench -count=1 -timeout 30m -v -run TestMemory ./test/bench

.PHONY: size
size: ## What the in-pod library adds to a program, beside client-go's informers.
	@$(CURDIR)/hack/size.sh

FUZZTIME ?= 20s
.PHONY: fuzz
fuzz: ## Every fuzz target for FUZZTIME each.
	@grep -rlE '^func Fuzz' --include='*_test.go' pkg internal | xargs -n1 dirname | sort -u | while read -r dir; do \
	  grep -hoE '^func Fuzz[A-Za-z0-9]+' $$dir/*_test.go | awk '{print $$2}' | while read -r f; do \
	    echo "== $$dir $$f"; go test ./$$dir -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) || exit 1; done || exit 1; done

##@ Develop

.PHONY: generate
generate: ## Deepcopy functions and CRDs.
	go run $(CONTROLLER_GEN) object crd:crdVersions=v1 paths=./api/... output:crd:dir=manifests/crds

.PHONY: lint
lint: $(GOLANGCI) ## golangci-lint.
	$(GOLANGCI) run ./...
	cd test/cluster && $(GOLANGCI) run --config ../../.golangci.yml ./...

.PHONY: verify
verify: lint ## What must hold before a commit: lint, vet, gofmt, tidy modules, generated files.
	go vet -tags 'integration e2e modules bench' ./...
	go -C test/cluster vet ./...
	@files=$$(git ls-files -z '*.go' | xargs -0 gofmt -l); test -z "$$files" || { echo "not gofmt'ed: $$files"; exit 1; }
	go mod tidy -diff
	$(MAKE) generate
	@git diff --exit-code -- api manifests/crds || { echo "generated files are stale: run make generate and commit"; exit 1; }

.PHONY: build
build: ## The binaries, into bin/.
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

.PHONY: deps
deps: $(CLUSTER) ## Debian packages for the local cluster, its images, the tour and the race detector (installed as root).
	@[ -z "$$KUBECONFIG" ] || exit 0; \
	missing=$$(for p in $$($(CLUSTER) deps --images) curl gcc libc6-dev; do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing" $$missing; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else echo "missing Debian packages; run: sudo apt-get install --no-install-recommends" $$missing >&2; exit 1; fi

.PHONY: images
images: $(CLUSTER) ## Image archives for a cluster without a registry, into .cache/images.
	@mkdir -p $(IMAGES)
	$(CLUSTER) image go --tag local/dynawire:dev --output $(IMAGES)/dynawire.tar ./cmd/webhook
	$(CLUSTER) image go --tag local/dynawire-example-worker:dev --output $(IMAGES)/worker.tar ./examples/worker
	$(CLUSTER) image go --tag local/dynawire-example-frontend:dev --output $(IMAGES)/frontend.tar ./examples/frontend
	@for v in $(DYNAMO_VERSIONS); do \
	  $(CLUSTER) image dynamo --version $$v --tag local/dynamo:$$v --output $(IMAGES)/dynamo-$$v.tar || exit 1; done

$(CLUSTER): $(wildcard test/cluster/*.go test/cluster/*/*.go) test/cluster/go.mod
	go -C test/cluster build -trimpath -o $@ .

$(GOLANGCI):
	GOBIN=$(CACHE)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(CACHE)/bin/golangci-lint $@

.PHONY: clean
clean: ## Remove what was built; the caches too.
	@for c in $(CACHE)/cluster/clusters/*/; do [ ! -d "$$c" ] || $(CLUSTER) down --name "$$(basename "$$c")"; done
	rm -rf bin $(CACHE)
