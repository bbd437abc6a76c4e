# The verbs of the project; `make` alone lists them. CONTRIBUTING.md says when to run which.
#
# CONFORMANCE and KAFKA name things outside this repository: the conformance suite and the control command of
# Apache Kafka with its tools. By default they are looked for beside the checkout; verbs that need an absent one say so.

SHELL := /bin/bash
GO    ?= go
BESIDE := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../shared)
CONFORMANCE ?= $(wildcard $(BESIDE)/conformance)
KAFKA       ?= $(wildcard $(BESIDE)/apache-kafka/kafka)
export KAFKA CONFORMANCE

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
SEEDS    ?= 200
FUZZTIME ?= 10s
PROGRAMS := $(patsubst cmd/%/main.go,%,$(wildcard cmd/*/main.go))
IMAGE    ?= fairlead:dev
NODES    ?= 3
GOLANGCI_VERSION := v2.15.0
CONTROLLER_GEN_VERSION := v0.23.0

.PHONY: help build image dev test race lint verify generate sim fuzz crash interop conformance bench envtest kube kube-down e2e e2e-smoke chart clean

help: ## list the verbs
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

build: ## build the programs of cmd/ into bin/, static
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ $(PROGRAMS:%=./cmd/%)

image: build ## bin/fairlead-image.tar, the container image IMAGE for `docker load` and its like; needs no container engine
	$(GO) run ./hack/image -o bin/fairlead-image.tar -t $(IMAGE) $(foreach p,$(PROGRAMS),/$(p)=bin/$(p))

dev: build ## run a cluster of three brokers on this machine until interrupted; DEV= gives more flags
	bin/fairlead dev $(DEV)

test: ## vet and unit tests: some minutes
	$(GO) vet ./...
	$(GO) test ./...

race: ## unit tests with the race detector
	$(GO) test -race ./...

lint: bin/golangci-lint ## formatting and linters
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "not gofmt'ed:"; echo "$$out"; exit 1; }
	bin/golangci-lint run ./...

bin/golangci-lint:
	GOBIN=$(abspath bin) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

verify: bin/controller-gen ## generated files are current, the module file is tidy
	hack/verify

generate: bin/controller-gen ## write generated files anew
	hack/generate

bin/controller-gen:
	GOBIN=$(abspath bin) $(GO) install sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_GEN_VERSION)

sim: ## simulate clusters under faults: SEEDS=N
	$(GO) test ./broker/sim -count=1 -timeout 60m -run 'TestSeeds' -seeds $(SEEDS) -v

fuzz: ## every fuzz target for FUZZTIME
	hack/fuzz $(FUZZTIME)

crash: build ## kill and stop real brokers under load
	CLUSTER=$${CLUSTER:-$(CURDIR)/hack/cluster} $(GO) test ./test/crash -count=1 -timeout 30m -v

interop: build ## kcat, Kafka's own tools and franz-go's own tests against a cluster
	CLUSTER=$${CLUSTER:-$(CURDIR)/hack/cluster} $(GO) test ./test/interop -count=1 -timeout 60m -v

conformance: build ## the conformance suite: storage, replication, protocol
	hack/conformance

envtest: ## tests of the operator against a real API server, without nodes
	assets=$$(hack/kube/kube assets) && KUBEBUILDER_ASSETS=$$assets $(GO) test ./api/... ./controllers/... ./cmd/fairlead-operator/... ./test/kubetest/... ./test/manifest/... ./test/oncall/... -count=1

kube: image ## start a local Kubernetes of NODES nodes with the image; docs/local-kubernetes.md
	hack/kube/kube up $(NODES)
	hack/kube/kube load-image bin/fairlead-image.tar

kube-down: ## end it and remove all that it made
	hack/kube/kube down

e2e: kube ## end-to-end tests on the local Kubernetes: E2E= gives flags of go test
	FAIRLEAD_E2E=1 $(GO) test ./test/e2e/... -count=1 -p 1 -timeout 60m -v $(E2E)

e2e-smoke: kube chart ## the part of them that shows that the harness works, that the guide is true, and that a cluster lives through its life
	FAIRLEAD_E2E=1 $(GO) test ./test/e2e/kube -count=1 -timeout 15m -v
	FAIRLEAD_E2E=1 $(GO) test ./test/e2e/quickstart -count=1 -timeout 15m -v
	FAIRLEAD_E2E=1 $(GO) test ./test/e2e/scenario -count=1 -timeout 20m -v -run 'TestLifecycle'

chart: ## what helm makes of the chart; builds helm if it is not there
	hack/kube/kube build tools
	HELM=$$(hack/kube/kube assets)/helm $(GO) test ./test/chart -count=1

bench: build ## side by side with Apache Kafka; BENCH= gives flags
	$(GO) run ./test/bench -fairlead $(CURDIR)/hack/cluster $(if $(KAFKA),-kafka $(KAFKA)) $(BENCH)

clean: ## remove what was built
	rm -rf bin
