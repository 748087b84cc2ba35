# rocelens. `make run` builds everything and starts the service; `make test` runs everything that CI runs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

export CGO_ENABLED ?= 0
export ROCELENS_CAPTURES ?= $(abspath ../shared/captures)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GO_BUILD = go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
TOOL = go tool -modfile=tools/go.mod
LIBRARY = store/embedded/library
GO_FILES = $(shell git ls-files '*.go' go.mod go.sum 'migrations/*.sql' server/api/openapi.yaml 2>/dev/null)
WEB_FILES = $(shell git ls-files web 2>/dev/null)
# `make run CLICKHOUSE=host:9000` uses that server, and then no ClickHouse library is installed.
CLICKHOUSE ?=
ARGS ?=

.PHONY: help
help: ## show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## ---- build and run

.PHONY: run
run: build $(if $(CLICKHOUSE),,library) ## build, start the service, print its address
	@exec bin/rocelens serve $(if $(CLICKHOUSE),--clickhouse $(CLICKHOUSE)) $(ARGS)

.PHONY: build
build: bin/rocelens bin/rocelens-agent bin/rocelens-clickhouse ## build the console and the three binaries into bin/

bin/rocelens: $(GO_FILES) web/dist/index.html
	$(GO_BUILD) -o $@ ./cmd/rocelens

bin/rocelens-agent: $(GO_FILES)
	$(GO_BUILD) -o $@ ./cmd/rocelens-agent

bin/rocelens-clickhouse: $(GO_FILES)
	$(GO_BUILD) -o $@ ./cmd/rocelens-clickhouse

.PHONY: library
library: $(LIBRARY)/node_modules/.installed ## install the embedded ClickHouse library from its npm package

$(LIBRARY)/node_modules/.installed: $(LIBRARY)/package-lock.json | tools
	npm ci --prefix $(LIBRARY) --no-audit --no-fund --loglevel=error
	@touch $@

web/dist/index.html: $(filter-out web/dist/%,$(WEB_FILES)) web/node_modules/.installed
	npm --prefix web run build

web/node_modules/.installed: web/package-lock.json | tools
	npm ci --prefix web --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: tools
tools: # a missing tool is one sentence
	@tools/check.sh

## ---- check

.PHONY: test
test: test-tools generated lint agent-size race variants ## everything that CI runs
	@# Simulations keep the cores busy and browsers mostly wait, so they run side by side; what each prints comes when it is done.
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target e2e simulated test-web

.PHONY: test-tools
test-tools: # tshark, tcpdump, Chromium, a C compiler for the race detector and one for the kernel, from Debian's packages
	@tools/debian.sh tshark tcpdump chromium gcc clang

.PHONY: generate
generate: web/node_modules/.installed ## generate code from its sources
	go generate ./...
	npm --prefix web run generate

.PHONY: bpf
bpf: ## rebuild the programs for the kernel, by clang 14
	@tools/debian.sh clang
	capture/xdp/bpf/build.sh
	capture/headers/bpf/build.sh
	capture/afxdp/bpf/build.sh

.PHONY: generated
generated: generate # fails when a generated file is not current
	@git diff --exit-code --stat -- '*_gen.go' '*.gen.ts' '*.gen.d.ts' '*.lua' go.mod go.sum docs || { echo 'generated files are not current: run make generate and commit'; exit 1; }
	go mod tidy -diff

.PHONY: lint
lint: .tools/bin/golangci-lint web/node_modules/.installed ## static checks, Go and TypeScript
	.tools/bin/golangci-lint run ./...
	npm --prefix web run lint

.tools/bin/golangci-lint: tools/go.mod
	go build -modfile=tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

AGENT_BYTES = 25000000
.PHONY: agent-size
agent-size: ## the agent, stripped, within AGENT_BYTES on each architecture
	@for arch in amd64 arm64; do \
	  GOARCH=$$arch CGO_ENABLED=0 $(GO_BUILD) -o .tools/rocelens-agent-$$arch ./cmd/rocelens-agent; \
	  size=$$(stat -c %s .tools/rocelens-agent-$$arch); echo "rocelens-agent, $$arch: $$size bytes"; \
	  [ $$size -le $(AGENT_BYTES) ] || { echo "more than $(AGENT_BYTES): go list -deps ./cmd/rocelens-agent says what is linked"; exit 1; }; \
	done

ALLOWED_SKIPS = .ci/allowed-skips $(if $(wildcard $(ROCELENS_CAPTURES)),,.ci/allowed-skips-without-captures)

.PHONY: race
race: build library ## all Go tests under the race detector
	CGO_ENABLED=1 ROCELENS_RACE=1 go test -race -shuffle=on -timeout=15m -json ./... | go run ./internal/testgate -allowed <(cat $(ALLOWED_SKIPS))

.PHONY: seeded
seeded: variants simulated kills ## what is too much under the race detector

.PHONY: variants
variants: # of what is served, broken; loss, and a busy host: alone on the machine, as it is about time
	go test -count=1 -json -run '^(TestBusyHostIsNoFailure|TestLossIsNoFailure|TestBrokenVariantsFailTheirScenarios)$$' \
	  ./replay/compliance | go run ./internal/testgate -allowed <(cat $(ALLOWED_SKIPS))

.PHONY: kills
kills: library # of agent, database and service, at random instants
	go test -count=1 -timeout=20m -json -run '^TestKillsNeitherLoseNorDouble$$' ./cmd/rocelens-agent | go run ./internal/testgate -allowed <(cat $(ALLOWED_SKIPS))

# What one goroutine does in seeded simulations: the race detector finds nothing in it, and makes it ten times as long.
SIMULATED = PropertiesUnderAnyNetwork FourGigabytesOverVeth ConformingConnectionsDoNotDiverge ConnectionsThatWereAccusedOnce DeviationsAreFound \
  LittleRoom GapsOfTheCaptureAccuseNobody FatesAndClocksAreTrue FatesOfMetaRoCEAreTrue FindsWhatWasGeneratedOfMetaRoCE \
  FieldsEqualTsharkInDamagedPackets EveryBitOfMetaRoCEHasOneLeaf EveryPrefixOfEveryGoldenPacketGoesToEveryDecoder \
  ReorderingIsNotRetransmission RetransmissionsEqualTruth HostileOrdersOfMetaRoCE EveryShortReordering \
  ThroughputKeptAtOnePercentLoss IncastSettlesInAFewRoundTrips DeadPlaneIsNotNoticed MillionConnections
SIMULATED_IN = analysis capture/xdp dissector dissector/tree flow replay replay/merge replay/roce replay/metaroce replay/metaroce/figures \
  replay/metaroce/injector replay/softmetaroce

# 3600 seeds are more than 10,000 conforming connections.
simulated: export ROCELENS_REPLAY_SEEDS ?= 3600
.PHONY: simulated
simulated: # all that the race stage shortens: networks, orders of packets, connections that conform and that deviate, merges
	go test -count=1 -json -run '^Test($(subst $() ,|,$(strip $(SIMULATED))))$$' $(addprefix ./,$(SIMULATED_IN)) \
	  | go run ./internal/testgate -allowed <(cat $(ALLOWED_SKIPS))

.PHONY: compliance-matrix
compliance-matrix: ## all scenarios of the compliance suite against each broken variant of what is served
	go test -count=1 -timeout=20m -run '^TestBrokenVariantsFailTheirScenarios$$' ./replay/compliance -matrix

.PHONY: test-go
test-go: build library ## all Go tests, without the race detector
	go test -timeout=10m ./...

.PHONY: test-web
test-web: web/node_modules/.installed ## unit tests of the console
	npm --prefix web test

.PHONY: e2e
e2e: build library ## the console in a real browser against the real service
	npm --prefix web run e2e

.PHONY: screenshots
screenshots: build library ## take the README's pictures anew, of a commit; look at each
	@tools/debian.sh chromium
	npm --prefix web run screenshots

.PHONY: test-tshark
test-tshark: ## compare shared captures and 10,000 generated packets with tshark, field by field
	@tools/debian.sh tshark
	go test -count=1 -run 'Tshark' ./...

FUZZTIME ?= 20s
.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@for pkg in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	  echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s $$pkg; done; done

.PHONY: bench
bench: build ## speed against tshark, tcpdump and capinfos in one run; benchmarks of the hot paths
	@tools/debian.sh tshark tcpdump
	go run ./bench
	@echo && echo 'decoding MetaRoCE, as a multiple of RoCEv2 WRITE packets in the same run' # at most 1.2 for WRITE, 1.5 for ACK
	@go test -run '^$$' -bench MetaRoCEDecode ./dissector | grep 'x-WRITE'
	@echo && echo 'tracking MetaRoCE over eight paths, as a multiple of RoCEv2 in the same run'
	@go test -run '^$$' -bench MetaRoCEObserve ./flow | grep 'x-RoCEv2'
	@echo && echo 'replay by kind of traffic, as a multiple of decoding and tracking' # at most 5
	@go test -run '^$$' -bench BenchmarkReplay -benchtime 10x ./analysis | grep times

.PHONY: bench-agent
bench-agent: ## what the programs in the kernel take for a packet; a flood before the agent, tcpdump and dumpcap; as root
	go test -run '^$$' -bench '^BenchmarkPrograms$$' -benchtime 1x ./capture/xdp
	@tools/debian.sh tshark tcpdump
	go run ./bench/flood $(ARGS)

.PHONY: bench-softmetaroce
bench-softmetaroce: ## a transfer between MetaRoCE peers over veth against iperf3; as root
	@tools/debian.sh iperf3
	go run ./bench/softmetaroce

.PHONY: bench-transport
bench-transport: ## MetaRoCE's reference endpoint in simulation, beside Meta's figures and go-back-N RoCEv2
	go run ./bench/transport

.PHONY: bench-replay
bench-replay: ## how many of the connections with an injected deviation replay finds, by rule, vantage and what the capture misses
	go run ./bench/replay $(ARGS)

.PHONY: bench-sequence
bench-sequence: build library ## the time-sequence graph of a million packets: windows through the API, frames in Chromium
	@tools/debian.sh chromium
	npm --prefix web run bench-sequence

.PHONY: bench-ingest
bench-ingest: build ## whether the service keeps up with 1,000 agents that report once a second, and how fast the console is meanwhile
	go run ./bench/ingest $(ARGS)

.PHONY: golden-update
golden-update: ## rewrite golden files; review the diff
	go test $$(git grep -l 'flag.Bool("update"' -- '*_test.go' | xargs -n1 dirname | sed 's|^|./|') -update

.PHONY: fmt
fmt: .tools/bin/golangci-lint ## format the Go code
	.tools/bin/golangci-lint fmt ./...

.PHONY: clean
clean: ## remove what was built; stored captures stay
	rm -rf bin .tools web/node_modules $(LIBRARY)/node_modules
	find web/dist -mindepth 1 ! -name .gitkeep -delete
