# Every target works from a fresh clone with Go alone; test installs what else
# it needs, see scripts/ensure-tools.sh.

# The library and, through go.work, the programs.
PACKAGES := ./... ./cmd/... ./lab/... ./vet/...
# Tests of the repository, not of code: they run once, in the plain build.
ONCE := $(shell go list ./internal/policy ./internal/release)
# Packages of the programs whose tests run it as it is built for use, or a browser, hours
# of recorded noise or whole loads, or have one goroutine: under the race detector they would be
# slow, or leave out most, and show little that others do not.
ASBUILT = page|realtest|load|scenarios|report|stats|ownership|command|echobench|hls|tsmedia|rtpmedia|flvbody
# Those that stand on WebRTC, NATS or Raft, which take five minutes to compile for the race detector:
# make race has them, before a release and after a change to what their goroutines share.
LARGE = sluice/cmd/sluice|sluice/lab|cli|internal/relay|web|webrtc|cluster|transport|consensus|verify
WHOLE = $(shell go list ./cmd/... ./lab/... ./vet/... | grep -E '/($(ASBUILT)|$(LARGE))$$')
LIBRARY = $(filter-out $(ONCE),$(shell go list ./...))
# The rest of all modules. Without GORACE each process that tests start takes a
# second to end.
PARTS = $(filter-out $(WHOLE) $(ONCE),$(shell go list $(PACKAGES)))
# What takes minutes with the checks.
SLOW = ./aio . ./live
# What make check leaves out: they start programs, browsers and clusters.
LONG = $(WHOLE) $(ONCE) $(shell go list ./lab/... | grep -E '/(cli|load|consensus|relay|echobench|evidence)$$')

.PHONY: help check test long race lint cross emulated fuzz soak bench compare-load protocols
.NOTPARALLEL:

help:
	@echo 'make test    everything that must pass: format, vet, staticcheck, cross-compilation,'
	@echo '             the tests with -race and invariants, those of the library and of large programs plain'
	@echo 'make check   the inner loop, two minutes: format, vet, and the plain tests of what is quick'
	@echo 'make long    what make test leaves out for its time: the mended forms of faulty programs'
	@echo 'make protocols  each protocol in against each out, two minutes; writes docs/results/protocols.md'
	@echo 'make race    all tests under the race detector; make test leaves some of the programs out'
	@echo 'make lint    format, vet, staticcheck, sluicevet, shellcheck'
	@echo 'make cross   compile and vet for the other systems'
	@echo 'make emulated  tests of the library for 386, arm64 and s390x (big-endian), by emulation, half an hour'
	@echo 'make fuzz    each fuzz target for FUZZTIME, 30s by default: make fuzz FUZZTIME=5m;'
	@echo '             with FUZZRECORD=yes the runs go into docs/results/fuzzing.md'
	@echo 'make soak    reader, aio, relay and sinks worked hard for SOAK, 1h by default; pages with curves in SOAK_PAGES'
	@echo 'make compare-load  lab load beside wrk, redis-benchmark and fio, ten minutes'
	@echo 'make bench   the side-by-side comparison on this machine, about a minute'

# -count=1 throughout: some tests read files of the repository or talk to the
# machine, and an old success of theirs says nothing. Many tests wait, so more packages run
# at a time than there are processors: one more under the race detector, which is busy, and four
# more in the plain pass, where the relay, real peers and the looks at other programs wait for minutes.
# Those that take minutes come first, so that the others fill the time; what takes three minutes may
# take more than ten on a machine that does something else, too. lint has vetted what is built here, and
# no test reads the debugging information of its own binary, which takes a quarter of the time to link.
# The library's tests run twice, whole with all checks and -short, without the longest histories, with none,
# those of the programs once, with the checks unless they are among WHOLE: these know no -short. Without paths in what is compiled, the test that installs a
# release finds what it stands on compiled. Compilers, linkers and what reads the code collect their
# garbage less often, which saves a sixth of their time, and so do the tests under the race detector; those of
# the plain pass do not, some measure memory.
#
# RERUNS is how often a test that failed is run again by itself: never, and once in CI, whose
# machines stand still at times. A test that then passes is named in the summary with its
# failure: it is to be mended. More than three failures, and data races, are not run again.
RERUNS = 0
GOTESTSUM = go run gotest.tools/gotestsum@v1.13.0 --format pkgname --format-icons text --hide-summary skipped --rerun-fails=$(RERUNS) --rerun-fails-max-failures 3 --rerun-fails-abort-on-data-race
TEST = $(GOTESTSUM) --packages '$(1)' -- -count=1 -timeout 25m -ldflags=-w -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + $(2))
test: export GOFLAGS = -trimpath
test: export GOGC = 400
test:
	@scripts/ensure-tools.sh
	@scripts/lint.sh
	@scripts/cross.sh
	@GORACE=atexit_sleep_ms=0 $(call TEST,$(SLOW) $(PARTS),1) -race -tags invariants -vet=off
	@$(call TEST,$(filter %/realtest %/relay,$(WHOLE)) $(WHOLE) $(ONCE) $(LIBRARY),4) -exec 'env -u GOGC' -vet=off -short

check:
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet $(PACKAGES)
	go test -short $(filter-out $(LONG),$(shell go list $(PACKAGES)))
	go test ./internal/policy

long:
	@scripts/ensure-tools.sh players
	SLUICE_LONG=1 go test -count=1 -v -run "OverABadLine|OverASlowLine|DoctorOfManyStreams|EventsOfEachProtocol" ./cmd/sluice/internal/relay
	SLUICE_LONG=1 go test -count=1 -v -run "Mended|ProgramsInC" ./lab/internal/diagnose/realtest
	go test -count=1 -run AnIdleConnectionCostsFewBytes ./aio
	SLUICE_HANDSHAKES=10000 go test -count=1 -run HandshakesLeaveNoGoroutine ./aio
	SLUICE_LONG=1 go test -count=1 -v -run "FilesOfARelease|InstallFromARelease" ./internal/release
	SLUICE_LONG=1 go test -count=1 -v -run Mutants ./vet/ownership
	SLUICE_LONG=1 go test -count=1 -v -run AllVariants ./lab/internal/scenarios
	SLUICE_LONG=1 go test -count=1 -v -timeout 1h -run "WHEP|WHIP|HLS|Players|Upgrades|Costs|Delays|PushBySRT|Image|SmallControlGroup" ./cmd/sluice/internal/relay/realtest
	SLUICE_LONG=1 go test -count=1 -v -timeout 3h -run "SurvivesKills|EdgesSurvive|NodesThatAreStopped|NodesWithBadLines|NodesFarApart|NodesDrainTogether|Partitions|RollingRestart|PageEndsASession" ./cmd/sluice/internal/relay/realtest

# Each publisher, player and codec, and the table in docs of what came out.
protocols:
	@scripts/ensure-tools.sh
	SLUICE_PROTOCOLS=update go test -count=1 -v -run 'TestProtocols$$' ./cmd/sluice/internal/relay/realtest

race:
	GORACE=atexit_sleep_ms=0 go test -count=1 -timeout 25m -race -tags invariants -vet=off $(PACKAGES)

lint:
	@scripts/lint.sh

cross:
	@scripts/cross.sh
	@scripts/cross.sh compile

# The resident sizes and the timed crowds say nothing of an emulated processor.
# Under qemu aio is tried in part: it does not carry out what the rest asks of the kernel.
EMULATED = . ./mem ./bytepool ./amf0 ./flv ./rtmp ./rtsp ./netsim ./internal/window ./internal/source ./internal/sizing
emulated:
	@scripts/ensure-tools.sh
	GOARCH=386 go test -count=1 -short $(EMULATED) ./live ./aio/...
	GOARCH=arm64 CGO_ENABLED=0 go test -count=1 -short -timeout 30m -exec qemu-aarch64 $(EMULATED) ./aio/internal/...
	GOARCH=arm64 CGO_ENABLED=0 go test -count=1 -short -exec qemu-aarch64 -run 'TestConformance|TestHistory' ./aio
	GOARCH=s390x CGO_ENABLED=0 go test -count=1 -short -timeout 30m -exec qemu-s390x $(EMULATED)

fuzz:
	@FUZZTIME='$(FUZZTIME)' scripts/fuzz.sh

soak:
	@scripts/soak.sh

bench:
	go run ./lab bench

# lab load beside wrk, redis-benchmark and fio, on a machine with nothing else to do.
compare-load:
	@scripts/ensure-tools.sh compare
	SLUICE_COMPARE_LOAD=$${ROUNDS:-9} go test -count=1 -v -timeout 1h -run Compare ./lab/internal/load/realtest
