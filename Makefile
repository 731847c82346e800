# What one does here often. "make help" lists it; .ci/run does all of it.

GO      ?= go
LINTER  ?= $(shell .ci/install linter)
# The Redis that the scenarios run on: embedded, process, docker, or a URL.
REDIS   ?= process
IMAGE   ?= recount-redis:local
SYSTEMS := linux darwin windows

.DEFAULT_GOAL := all
.PHONY: all build quick test race lint bench judged calibrate explore planted walks candidates cross scenarios image clean help

all: build quick ## build, and the tests that take no Redis of their own (the default)

build: ## the commands, into bin/
	$(GO) build -o bin/ ./cmd/...

quick: ## the tests that finish within seconds
	$(GO) test . ./history/... ./internal/... ./elector ./elector/memstore/... ./faults/... ./checker/... ./reports/...

test: ## every test; the scenarios take a few minutes
	$(GO) test ./...
	cd bench && $(GO) test ./...
	cd examples/candidates/go && $(GO) test ./...

race: ## every test, with the race detector
	GORACE=atexit_sleep_ms=50 $(GO) test -race ./...
	cd bench && $(GO) test -race ./...

lint: ## gofmt, go vet, golangci-lint
	@test -z "$$(gofmt -l .)" || { echo "not formatted by gofmt:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(LINTER) run ./...
	cd bench && $(GO) vet ./... && $(LINTER) run ./...
	cd examples/candidates/go && $(GO) vet ./... && $(LINTER) run ./...

bench: ## benchmarks of what production, long runs and the fuzzer wait for, and the elector beside others
	$(GO) test -run '^$$' -bench . -benchmem ./elector/... ./internal/machine ./checker ./sim/virtual/... ./sim/bubble/... ./sim/explore ./scenarios/...
	cd bench && $(GO) run .

judged: ## the checkers against 100,000 generated histories and against real ones that were changed; up to an hour
	$(GO) test -count=1 -timeout 3h -v ./checker/crosscheck -histories 100000 -places 20 -runs 5

calibrate: ## the live, the virtual and the bubble's world compared, in a few scenarios; takes five minutes
	RECOUNT_LIVE_RUNS=5 $(GO) test -count=1 -timeout 30m -v -run '^TestCalibration$$' ./scenarios

explore: ## every schedule of the large worlds, or ten minutes of each; takes up to 5 GB
	$(GO) run ./cmd/chaos explore --large --time 10m

planted: ## bugs in the text of the source that ships, hunted in every world; some hours
	$(GO) test -count=1 -timeout 24h -v ./scenarios/league/source -run Hunt -hunt clean -update docs/planted.md
	$(GO) test -count=1 -timeout 24h -v ./scenarios/league/source -run Hunt -hunt all -units -update docs/planted.md

walks: ## 1,000 drawn walks of replicated and independent Redis servers, in real time; takes half an hour
	RECOUNT_WALKS=1000 $(GO) test -count=1 -timeout 3h -parallel 20 -v -run Real ./sim/bubble/walk

candidates: ## well-known libraries as candidates, into examples/candidates/go/bin: for chaos trial --exec-dir
	cd examples/candidates/go && $(GO) build -o bin/ ./...

cross: ## compile the elector for every system, the commands for those they run on
	for system in $(SYSTEMS); do CGO_ENABLED=0 GOOS=$$system $(GO) build ./elector/... || exit 1; done
	for system in linux darwin; do CGO_ENABLED=0 GOOS=$$system $(GO) vet ./cmd/... || exit 1; done

scenarios: ## the scenarios on one Redis: make scenarios REDIS=embedded
	RECOUNT_REDIS=$(REDIS) RECOUNT_REDIS_IMAGE=$(IMAGE) $(GO) test -race -count=1 -v ./scenarios

image: ## a Docker image of this machine's Redis, for REDIS=docker
	.ci/redis-image $(IMAGE)

clean: ## what was built, and the reports of runs
	rm -rf bin examples/candidates/go/bin recount-runs runs

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
