# What one does here often. "make help" lists it; .ci/run does all of it.

GO      ?= go
LINTER  ?= $(shell .ci/install linter)
# The Redis that the scenarios run on: embedded, process, docker, or a URL.
REDIS   ?= process
IMAGE   ?= recount-redis:local
# The campaign's seed, and its schedules, of all shards.
SEED      ?= 1
SCHEDULES ?= 200000
# What must succeed in a clone of what is released.
CHECK   ?= bash .ci/run
SYSTEMS := linux darwin windows
# The modules of the workspace; each with all below it is what the go command
# calls "work", for programs that do not know the word.
MODULES  = $(shell $(GO) list -m -f '{{.Dir}}')
# Those apart have a workspace of their own.
APART   := bench elector/kubelock examples/candidates/go examples/clients examples/controller examples/own-elector examples/schedulers
# Every package of the elector, in whatever module: "./elector/..." would stop at
# the border of the first.
ELECTOR := github.com/recount-io/recount/elector/...

.DEFAULT_GOAL := all
.PHONY: all build quick test race modules lint bench judged calibrate tuned explore mutants campaign calls walks rolling soak staging candidates cross scenarios image release count clean help

all: build quick ## build, and the tests that take no Redis of their own (the default)

build: ## the commands, into bin/
	$(GO) build -o bin/ ./cmd/...

quick: ## the tests that finish within seconds
	$(GO) test . ./history/... ./internal/... ./elector ./elector/electortest ./elector/memstore/... ./faults/... ./checker/... ./reports/...

test: ## every test; the scenarios take a few minutes
	$(GO) test work
	for module in $(APART) .ci/release; do (cd $$module && $(GO) test ./...) || exit 1; done

race: ## every test, with the race detector
	GORACE=atexit_sleep_ms=50 $(GO) test -race work
	cd bench && $(GO) test -race ./...

modules: ## the modules as others get them: published, imported, and compiled by the oldest Go
	$(GO) test -count=1 -v -run Published .
	RECOUNT_OLDEST_GO=1 $(GO) test -count=1 -v -run Importing .

lint: ## gofmt, go vet, golangci-lint
	@test -z "$$(gofmt -l .)" || { echo "not formatted by gofmt:"; gofmt -l .; exit 1; }
	$(GO) vet work
	$(LINTER) run $(addsuffix /...,$(MODULES))
	for module in $(APART) .ci/release; do (cd $$module && $(GO) vet ./... && $(LINTER) run ./...) || exit 1; done

bench: ## benchmarks of what production, long runs and the fuzzer wait for, and the elector beside others
	$(GO) test -run '^$$' -bench . -benchmem $(ELECTOR) ./internal/machine ./checker ./sim/virtual/... ./sim/bubble/... ./sim/explore ./scenarios/...
	cd bench && $(GO) run .

judged: ## the checkers against 100,000 generated histories and against real ones that were changed; up to an hour
	$(GO) test -count=1 -timeout 3h -v ./checker/crosscheck -histories 100000 -places 20 -runs 5

calibrate: ## the live, the virtual and the bubble's world compared, in a few scenarios; takes five minutes
	RECOUNT_CASES=5 $(GO) test -count=1 -timeout 30m -v -run '^TestCalibration$$' ./scenarios

tuned: ## the settings for three networks, into docs/operations.md; takes ten minutes
	$(GO) build -o bin/ ./cmd/chaos
	bin/chaos tune --rtt 500us --rtt-p99 2ms --update docs/operations.md
	bin/chaos tune --rtt 2ms --rtt-p99 200ms --update docs/operations.md
	bin/chaos tune --rtt 40ms --rtt-p99 80ms --loss 1% --update docs/operations.md

explore: ## every schedule of the large worlds, or ten minutes of each; takes up to 5 GB
	RECOUNT_CASES=1 $(GO) test -count=1 -v -run '^TestRedundantChecksOfBids$$' ./sim/explore
	$(GO) run ./cmd/chaos explore --large --time 10m

mutants: ## bugs planted in the source that ships, hunted in every world; some hours
	$(GO) build -o bin/ ./cmd/chaos
	bin/chaos mutants hunt --sound --update docs/mutants.md
	bin/chaos mutants hunt --update docs/mutants.md

campaign: ## a campaign of eight shards on this machine, merged: make campaign SEED=7 SCHEDULES=1000000
	$(GO) build -o bin/ ./cmd/chaos
	rm -rf recount-runs/campaign
	seq 8 | xargs -P "$$(getconf _NPROCESSORS_ONLN)" -I SHARD bin/chaos fuzz --seed $(SEED) --cases $(SCHEDULES) --workers 1 --shard SHARD/8 --out recount-runs/campaign
	bin/chaos merge recount-runs/campaign --out recount-runs/campaign/whole

calls: ## 20,000 generated cases of the elector's calls, in fake time; takes an hour
	$(GO) build -o bin/ ./cmd/chaos
	bin/chaos fuzz --in calls --cases 20000 --failures 9

walks: ## 1,000 generated cases of several Redis servers, on real ones, in real time; takes half an hour
	RECOUNT_CASES=1000 $(GO) test -count=1 -timeout 3h -parallel 20 -v -run Real ./sim/bubble/topologies

rolling: ## options, rights and leases changed candidate by candidate on real servers, 20 times each; ten minutes
	RECOUNT_CASES=20 $(GO) test -count=1 -timeout 3h -parallel 7 -v -run '^TestRollingChanges$$' ./elector/redisstore

soak: ## 1,000 elections on real servers under drawn faults, judged as they go, and what it takes, for an hour
	$(GO) run ./cmd/chaos soak

staging: ## a server that plays a team's: 200 runs killed, and another client beside 20 runs; takes half an hour
	RECOUNT_CASES=1 $(GO) test -count=1 -timeout 3h -v -run '^TestStaging' ./cmd/chaos

candidates: ## well-known libraries as candidates, tested, into examples/candidates/go/bin: for chaos trial --exec-dir
	cd examples/candidates/go && $(GO) build -o bin/ ./... && $(GO) test -count=1 ./...

cross: ## compile the elector for every system, the commands for those they run on
	for system in $(SYSTEMS); do CGO_ENABLED=0 GOOS=$$system $(GO) build $(ELECTOR) || exit 1; done
	for system in linux darwin; do CGO_ENABLED=0 GOOS=$$system $(GO) vet ./cmd/... || exit 1; done

scenarios: ## the scenarios on one Redis: make scenarios REDIS=embedded
	RECOUNT_REDIS=$(REDIS) RECOUNT_REDIS_IMAGE=$(IMAGE) $(GO) test -race -count=1 -v ./scenarios

image: ## a Docker image of this machine's Redis, for REDIS=docker
	.ci/redis-image $(IMAGE)

release: ## what a release has, into dist/: make release VERSION=v0.2.0; PUBLISH=1 also commits and tags it here
	cd .ci/release && $(GO) run . -version "$(VERSION)" -out "$(CURDIR)/dist" -check "$(CHECK)" $(if $(PUBLISH),-publish)

# A word has a letter or a digit in it. What a command has written between two marks, or stands
# in a block of code, is no text.
words = awk '/^ *```/ { code = !code; next } /^<!-- [a-z]/ { made = !/^<!-- end/ } \
  code || made { next } { for (i = 1; i <= NF; i++) if ($$i ~ /[[:alnum:]]/) n++ } END { print n + 0 }'
pages = git ls-files '*.md' | grep -v /testdata/
count: ## pages and words of the documents, and lines of Go: production, tests
	@echo "pages of docs: $$(git ls-files 'docs/*.md' | wc -l)"
	@echo "words: $$($(pages) | xargs cat | $(words))"
	@echo "lines of Go, production: $$(git ls-files '*.go' | grep -v -e _test.go -e /testdata/ | xargs cat | wc -l)"
	@echo "lines of Go, tests: $$(git ls-files '*.go' | grep -e _test.go -e /testdata/ | xargs cat | wc -l)"

clean: ## what was built, and the reports of runs
	rm -rf bin dist examples/candidates/go/bin recount-runs runs

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
