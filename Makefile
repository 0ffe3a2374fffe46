# Every target works from a fresh clone with Go alone; test installs what else
# it needs, see scripts/ensure-tools.sh.

# The library and, through go.work, the two programs.
PACKAGES := ./... ./cmd/... ./lab/...
# Packages of the programs whose tests run it as it is built for use, or a browser,
# or hours of recorded noise: under the race detector they would be slow, or
# leave out most, and show little that the packages beneath them do not.
WHOLE = $(shell go list ./cmd/... ./lab/... | grep -E '/(page|realtest|diagnose|scenarios|report|stats)$$')
# The rest of all modules. Without GORACE each process that tests start takes a
# second to end.
PARTS = $(filter-out $(WHOLE),$(shell go list $(PACKAGES)))

.PHONY: help test race lint cross fuzz soak bench
.NOTPARALLEL:

help:
	@echo 'make test    everything that must pass: format, vet, staticcheck, cross-compilation,'
	@echo '             the tests with -race, the library with its invariants and plain too'
	@echo 'make race    the tests under the race detector'
	@echo 'make lint    format, vet, staticcheck, shellcheck'
	@echo 'make cross   compile and vet for the other systems'
	@echo 'make fuzz    each fuzz target for FUZZTIME, 30s unless told: make fuzz FUZZTIME=5m'
	@echo 'make soak    kill sinks at random under load for SOAK, 10m unless told'
	@echo 'make bench   the side-by-side comparison on this machine, about a minute'

# -count=1 throughout: some tests read files of the repository or talk to the
# machine, and an old success of theirs says nothing. The library's tests run in each
# of its builds, those of the programs once. The plain run comes last so that its
# summary ends the output.
test:
	@scripts/ensure-tools.sh
	@scripts/lint.sh
	@scripts/cross.sh
	GORACE=atexit_sleep_ms=0 go test -count=1 -race $(PARTS)
	go test -count=1 -tags invariants ./...
	go test -count=1 ./... $(WHOLE)

race:
	GORACE=atexit_sleep_ms=0 go test -count=1 -race $(PACKAGES)

lint:
	@scripts/lint.sh

cross:
	@scripts/cross.sh

fuzz:
	@FUZZTIME='$(FUZZTIME)' scripts/fuzz.sh

soak:
	SLUICE_SINK_SOAK=$${SOAK:-10m} go test -count=1 -v -timeout 24h -run Soak ./lab/internal/sink/realtest

bench:
	go run ./lab bench
