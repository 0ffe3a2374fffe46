# Every target works from a fresh clone with Go alone; test installs what else
# it needs, see scripts/ensure-tools.sh.

# The library and, through go.work, the program.
PACKAGES := ./... ./cmd/...
# The tests of the page are a browser's work; there is nothing of ours to race.
RACE = $(shell go list $(PACKAGES) | grep -v /relay/page$$)

.PHONY: help test race lint cross fuzz bench
.NOTPARALLEL:

help:
	@echo 'make test    everything that must pass: format, vet, staticcheck, cross-compilation,'
	@echo '             the tests with -race, the library with its invariants, and plain'
	@echo 'make race    the tests under the race detector'
	@echo 'make lint    format, vet, staticcheck, shellcheck'
	@echo 'make cross   compile and vet for the other systems'
	@echo 'make fuzz    each fuzz target for FUZZTIME, 30s unless told: make fuzz FUZZTIME=5m'
	@echo 'make bench   the side-by-side comparison on this machine, about a minute'

# -count=1 throughout: some tests read files of the repository or talk to the
# machine, and an old success of theirs says nothing. The invariants are the
# library's. The plain run comes last so that its summary ends the output.
test:
	@scripts/ensure-tools.sh
	@scripts/lint.sh
	@scripts/cross.sh
	go test -count=1 -race $(RACE)
	go test -count=1 -tags invariants ./...
	go test -count=1 $(PACKAGES)

race:
	go test -count=1 -race $(RACE)

lint:
	@scripts/lint.sh

cross:
	@scripts/cross.sh

fuzz:
	@FUZZTIME='$(FUZZTIME)' scripts/fuzz.sh

bench:
	go run ./cmd/sluice bench
