package diagnose

import (
	"regexp"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// A matcher reports by its full name whether a function is of a kind.
type matcher func(fn string) bool

// oneOf matches whole names.
func oneOf(names ...string) matcher {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return func(fn string) bool { return set[fn] }
}

// either matches what any of them does.
func either(list ...matcher) matcher {
	return func(fn string) bool {
		for _, m := range list {
			if m(fn) {
				return true
			}
		}
		return false
	}
}

// matching matches names by a regular expression.
func matching(expr string) matcher { return regexp.MustCompile(expr).MatchString }

// The kinds of function that rules ask for. A call that moves bytes is counted
// from where package net or os enters the poller's layer: what is above it is
// paid for each call too.
var (
	isWrite = either(
		oneOf("internal/poll.(*FD).Write", "internal/poll.(*FD).Writev", "internal/poll.(*FD).Pwrite",
			"internal/poll.(*FD).WriteTo", "internal/poll.(*FD).WriteMsg", "internal/poll.(*FD).WriteToInet4", "internal/poll.(*FD).WriteToInet6",
			"syscall.Write", "syscall.write", "syscall.Pwrite", "syscall.Sendto", "syscall.sendto", "syscall.sendmsg", "syscall.SendmsgN"),
		matching(`^golang\.org/x/sys/unix\.(Write|Writev|Pwrite|Send|Sendto|Sendmsg|SendmsgN|SendmsgBuffers)$`),
		matching(`^(__x64_sys|__arm64_sys|ksys|do)_(write|writev|sendto|sendmsg|pwrite64)$`))
	isRead = either(
		oneOf("internal/poll.(*FD).Read", "internal/poll.(*FD).Pread", "internal/poll.(*FD).ReadFrom", "internal/poll.(*FD).ReadMsg",
			"internal/poll.(*FD).ReadFromInet4", "internal/poll.(*FD).ReadFromInet6", "internal/poll.(*FD).RawRead",
			"syscall.Read", "syscall.read", "syscall.Pread", "syscall.Recvfrom", "syscall.recvfrom", "syscall.recvmsg"),
		matching(`^golang\.org/x/sys/unix\.(Read|Readv|Pread|Recvfrom|Recvmsg|RecvmsgBuffers)$`),
		matching(`^(__x64_sys|__arm64_sys|ksys|do)_(read|readv|recvfrom|recvmsg|pread64)$`))
	isFileSync = either(
		oneOf("internal/poll.(*FD).Fsync", "syscall.Fsync", "syscall.Fdatasync", "os.(*File).Sync"),
		matching(`^golang\.org/x/sys/unix\.(Fsync|Fdatasync|Msync|SyncFileRange)$`))
	isSyscall = either(
		oneOf("syscall.Syscall", "syscall.Syscall6", "syscall.RawSyscall", "syscall.RawSyscall6", "syscall.rawSyscallNoError",
			"internal/runtime/syscall.Syscall6", "internal/runtime/syscall/linux.Syscall6", "runtime/internal/syscall.Syscall6",
			"runtime.futex", "runtime.epollwait", "runtime.netpoll", "runtime.write1", "runtime.madvise"),
		matching(`^internal/runtime/syscall\b`))
	isFlush  = matching(`(?i)(^|[/.])(compress|[a-z]*flate|[a-z]*zip|zlib|zstd|s2|snappy|lz4|brotli|lzw|xz)[/.](.*[./])?(\(\*?\w+\)\.)?(sync)?flush$`)
	isMalloc = either(
		oneOf("runtime.mallocgc", "runtime.newobject", "runtime.makeslice", "runtime.growslice", "runtime.makeslicecopy", "runtime.rawbyteslice",
			"runtime.rawstring", "runtime.slicebytetostring", "runtime.stringtoslicebyte", "runtime.concatstrings"),
		matching(`^runtime\.mallocgc`))
	isGC = oneOf("runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcAssistAlloc1", "runtime.gcDrain", "runtime.gcDrainN",
		"runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart", "runtime.gcMarkDone", "runtime.gcMarkTermination", "runtime.wbBufFlush",
		"runtime.gcWriteBarrier", "runtime.sweepone", "runtime.markroot", "runtime.scanobject")
	// The collector also marks on idle processors, which takes no time from other
	// goroutines.
	isIdleGC    = oneOf("runtime.gcDrainMarkWorkerIdle")
	isScheduler = oneOf("runtime.schedule", "runtime.findRunnable", "runtime.park_m", "runtime.mcall", "runtime.goready", "runtime.ready",
		"runtime.wakep", "runtime.startm", "runtime.stopm", "runtime.notewakeup", "runtime.notesleep", "runtime.goschedImpl",
		"runtime.netpollready", "runtime.netpollgoready", "runtime.injectglist")
	isLocking = matching(`^(internal/)?sync\.\(\*(Mutex|RWMutex)\)\.`)
	isAtomic  = matching(`^(sync/atomic|internal/runtime/atomic)\.`)
)

// isSendFile moves bytes from a file to a socket within the kernel.
var isSendFile = matching(`^(internal/poll|net|syscall)\.(SendFile|sendFile|Sendfile|sendfile)\b`)

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

// own returns the innermost frame of a stack outside the standard library and
// golang.org/x: the code that the user can change. If there is none, it
// returns the innermost frame.
func own(frames []evidence.Frame) (f evidence.Frame, ok bool) {
	for _, f := range frames {
		if isOwn(f.Func) {
			return f, true
		}
	}
	if len(frames) > 0 {
		return frames[0], false
	}
	return evidence.Frame{}, false
}

// isOwn reports by the path of its package whether a function is of the program or of a
// library outside the standard one: the path begins with main, or with an element that has
// a dot, such as a host name, but not with golang.org/x/. Names without a package
// belong to the kernel or to assembly code.
func isOwn(fn string) bool {
	pkg := packageOf(fn)
	first, _, _ := strings.Cut(pkg, "/")
	switch {
	case pkg == "" || strings.HasPrefix(pkg, "golang.org/x/"):
		return false
	case first == "main" || strings.Contains(first, "."):
		return true
	}
	return false
}

// packageOf returns the path of a function's package: up to the first dot
// behind the last slash. In a symbol, dots of the last element of a path are written %2e.
func packageOf(fn string) string {
	slash := strings.LastIndexByte(beforeTypes(fn), '/') + 1
	dot := strings.IndexByte(fn[slash:], '.')
	if dot < 0 {
		return ""
	}
	return fn[:slash+dot]
}

// beforeTypes cuts type arguments off, which have paths of their own.
func beforeTypes(fn string) string {
	if i := strings.IndexByte(fn, '['); i > 0 {
		return fn[:i]
	}
	return fn
}

// short is a function's name with the last element of its package's path only.
func short(fn string) string {
	head := beforeTypes(fn)
	return head[strings.LastIndexByte(head, '/')+1:]
}

// spawner matches what stands at the outer end of stacks of goroutines that
// have nothing else in common.
var spawner = matching(`^(runtime|sync|testing|golang\.org/x/sync/errgroup)\.`)

// root returns the function that a goroutine was started with.
func root(frames []evidence.Frame) string {
	for i := len(frames) - 1; i >= 0; i-- {
		if !spawner(frames[i].Func) {
			return frames[i].Func
		}
	}
	return ""
}
