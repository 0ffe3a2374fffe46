package diagnose

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

func oneOf(names ...string) matcher {
	return func(fn string) bool { return slices.Contains(names, fn) }
}

// System calls that move bytes, by Linux's names.
var (
	readCalls   = oneOf("read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg")
	writeCalls  = oneOf("write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg")
	isBeginning = oneOf("clone", "clone3", "fork", "vfork")
)

// A moved is what strace saw of the calls of one direction together.
type moved struct {
	count  int64 // calls that moved something
	failed int64 // EAGAIN, mostly
	again  int64 // moved under 512 bytes, right after another in the same direction
	full   int64 // moved as much as was asked for
	bytes  int64
	sizes  map[int64]int64 // calls by what they moved
	asked  map[int64]int64 // calls by what was asked for
}

func movedBy(c *evidence.Calls, kind matcher) moved {
	m := moved{sizes: map[int64]int64{}, asked: map[int64]int64{}}
	for _, call := range c.ByName {
		if !kind(call.Name) {
			continue
		}
		m.count += call.Count - call.Errors
		m.failed += call.Errors
		m.again += call.Again
		m.full += call.Full
		m.bytes += call.Bytes
		for _, size := range call.Sizes {
			if size.Bytes == 0 { // the end of a stream
				m.count -= size.Count
				continue
			}
			m.sizes[size.Bytes] += size.Count
		}
		for _, size := range call.Asked {
			m.asked[size.Bytes] += size.Count
		}
	}
	return m
}

func (m *moved) part(n int64) float64 {
	if m.count <= 0 || n <= 0 {
		return 0
	}
	return min(1, float64(n)/float64(m.count))
}

func total(sizes map[int64]int64) (all int64) {
	for _, n := range sizes {
		all += n
	}
	return all
}

func (m *moved) askedUnder(limit int64) float64 {
	var under int64
	for size, n := range m.asked {
		if size < limit {
			under += n
		}
	}
	return float64(under) / float64(max(1, total(m.asked)))
}

// usual returns the most frequent of sizes, 0 being none, and its part of the
// calls that are in it.
func usual(sizes map[int64]int64) (size int64, part float64) {
	for _, k := range slices.Sorted(maps.Keys(sizes)) {
		if sizes[k] > sizes[size] {
			size = k
		}
	}
	return size, float64(sizes[size]) / float64(max(1, total(sizes)))
}

// most returns the largest size that is at least a hundredth of them: odd ones
// at ends and beginnings do not count.
func most(sizes map[int64]int64) (largest int64) {
	all := total(sizes)
	for k, n := range sizes {
		if n*100 >= all {
			largest = max(largest, k)
		}
	}
	return largest
}

type matcher func(fn string) bool

func either(list ...matcher) matcher {
	return func(fn string) bool { return slices.ContainsFunc(list, func(m matcher) bool { return m(fn) }) }
}

var (
	//go:embed functions.txt
	functions string
	//go:embed advice.txt
	advices string

	// kinds are those of functions.txt, each as one pattern; advice is what to try, by the rule.
	kinds, advice = sections(functions, "|"), sections(advices, " ")
)

// sections are the texts that stand indented below their names, their lines joined.
func sections(file, joint string) map[string]string {
	all, name := map[string]string{}, ""
	for line := range strings.Lines(file) {
		switch text, below := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "\t"); {
		case below && all[name] != "":
			all[name] += joint + text
		case below:
			all[name] = text
		case text != "" && text[0] != '#':
			name = text
		}
	}
	return all
}

func kind(name string) matcher {
	if kinds[name] == "" {
		panic("diagnose: functions.txt has no kind " + name)
	}
	return regexp.MustCompile(kinds[name]).MatchString
}

var (
	isWrite, isRead, isSendFile, isFileSync         = kind("write"), kind("read"), kind("sendfile"), kind("file-sync")
	isDialling, isAccepting, isResolving, isOpening = kind("dialling"), kind("accepting"), kind("resolving"), kind("opening")
	isSyscall, isPolling, isAsking, isFaulting      = kind("syscall"), kind("polling"), kind("asking"), kind("faulting")
	isMalloc, isFree, isGC, isIdleGC                = kind("malloc"), kind("free"), kind("gc"), kind("idle-gc")
	isLocking, isSpinning, isParking, isAtomic      = kind("locking"), kind("spinning"), kind("parking"), kind("atomic")
	isMonitor, isInterpreter, isHandoff, isCgo      = kind("monitor"), kind("interpreter"), kind("handoff"), kind("cgo")
	isTimer, isClock, isBriefly, isStarting         = kind("timer"), kind("clock"), kind("briefly"), kind("starting")
	isFlush, isBlockWork, isCompiling, isFormatting = kind("flush"), kind("block-work"), kind("compiling"), kind("formatting")
	isRuntimeCall, isSleeping, isReadersLock        = kind("runtime-call"), kind("sleeping"), kind("readers-lock")
	isHashing, isScanning, isCopying                = kind("password-hashing"), kind("scanning"), kind("copying")
)

// through returns whether a stack passes a function of that kind. Package net
// reaches sendfile through RawRead of the file that is sent, which reads nothing.
func through(frames []evidence.Frame, kind matcher) bool {
	sent := false
	for _, f := range frames {
		if sent && f.Func == "internal/poll.(*FD).RawRead" {
			continue
		}
		if kind(f.Func) {
			return true
		}
		sent = sent || isSendFile(f.Func)
	}
	return false
}

func without(kind, unless matcher) func([]evidence.Frame) bool {
	return func(frames []evidence.Frame) bool { return through(frames, kind) && !through(frames, unless) }
}

func passing(kind matcher) func([]evidence.Frame) bool {
	return func(frames []evidence.Frame) bool { return through(frames, kind) }
}
