package diagnose

import (
	"maps"
	"regexp"
	"slices"

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

func matching(expr string) matcher { return regexp.MustCompile(expr).MatchString }

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

// The kinds of function that rules ask for, by the names of Go's functions, of the C
// library's, and of the Linux kernel's. A call that moves bytes is counted
// from where package net or os enters the poller's layer: what is above it is
// paid for each call too.
var (
	isWrite = matching(`^internal/poll\.\(\*FD\)\.(Write|Writev|Pwrite|WriteTo|WriteMsg|WriteToInet[46])$` +
		`|^syscall\.(Write|write|Pwrite|Sendto|sendto|sendmsg|SendmsgN)$` +
		`|^golang\.org/x/sys/unix\.(Write|Writev|Pwrite|Send|Sendto|Sendmsg|SendmsgN|SendmsgBuffers)$` +
		`|^(__x64_sys|__arm64_sys|ksys|do|__sys|___sys)_(write|writev|sendto|sendmsg|pwrite64)$|^(__GI_+(libc_)?|__libc_)?(write|send|sendto|pwrite64)$`)
	isRead = matching(`^internal/poll\.\(\*FD\)\.(Read|Pread|ReadFrom|ReadMsg|ReadFromInet[46]|RawRead)$` +
		`|^syscall\.(Read|read|Pread|Recvfrom|recvfrom|recvmsg)$` +
		`|^golang\.org/x/sys/unix\.(Read|Readv|Pread|Recvfrom|Recvmsg|RecvmsgBuffers)$` +
		`|^(__x64_sys|__arm64_sys|ksys|do|__sys|___sys)_(read|readv|recvfrom|recvmsg|pread64)$|^(__GI_+(libc_)?|__libc_)?(read|recv|recvfrom|pread64)$`)
	isFileSync = matching(`^internal/poll\.\(\*FD\)\.Fsync$|^syscall\.(Fsync|Fdatasync)$|^os\.\(\*File\)\.Sync$` +
		`|^golang\.org/x/sys/unix\.(Fsync|Fdatasync|Msync|SyncFileRange)$|^(__x64_sys_|__arm64_sys_|do_)?(fsync|fdatasync|msync)$`)
	// What making and ending connections costs, with TLS.
	isDialling = matching(`^net\.\(\*(Dialer|sysDialer|netFD)\)\.(DialContext|dialSerial|dialTCP|connect|Close)$|^crypto/tls\.\(\*Conn\)\.(HandshakeContext|handshakeContext|clientHandshake|serverHandshake)$` +
		`|^(__x64_|__arm64_)?(__)?sys_(connect|socket)$|^inet6?_(stream_connect|release)$|^sock_close$|^tcp_v[46]_connect$|^(__GI_+)?(__libc_)?connect$|^SSL_(connect|accept|do_handshake)$|^(__x64_|__arm64_)?(__)?sys_accept4?$`)
	isOpening   = matching(`^os\.(OpenFile|Open|openFileNolog|L?[Ss]tat|l?statNolog)$|^(__x64_|__arm64_)?sys_(open(at2?)?|newfstatat|l?stat|statx|f?access(at2?)?)$|^do_sys_open(at2)?$|^(__GI_+|__libc_)?(open(at)?|fopen|l?stat|fstatat|access)(64)?$`)
	isAccepting = matching(`^internal/poll\.\(\*FD\)\.Accept$|^(__x64_|__arm64_)?(__)?sys_accept4?$|^(__GI_+|__libc_)?accept4?$`)
	isSyscall   = matching(`^syscall\.(Syscall6?|RawSyscall6?|rawSyscallNoError)$|^internal/runtime/syscall\b|^runtime/internal/syscall\b` +
		`|^runtime\.(futex|epollwait|netpoll|write1|madvise)$|^(do_syscall_64|entry_SYSCALL_64_after_hwframe|invoke_syscall|el0_svc)$`)
	isFlush  = matching(`(?i)(^|[/.])(compress|[a-z]*flate|[a-z]*zip|zlib|zstd|s2|snappy|lz4|brotli|lzw|xz)[/.](.*[./])?(\(\*?\w+\)\.)?(sync)?flush$`)
	isMalloc = matching(`^runtime\.(mallocgc\w*|newobject|makeslice|growslice|makeslicecopy|rawbyteslice|rawstring|slicebytetostring|stringtoslicebyte|concatstrings|hashGrow|growWork\w*)$|^internal/runtime/maps\.\(\*table\)\.rehash$` +
		`|^(__GI_+|__libc_|_int_)?(malloc|calloc|realloc|memalign)$|^malloc_consolidate$|^operator new|^(je|tc|mi)_(malloc|calloc|realloc)`)
	isFree = matching(`^(__GI_+|__libc_|_int_)?c?free$|^free_consolidate$|^operator delete|^(je|tc|mi)_free`)
	// The collectors of Go, V8, HotSpot, CPython and Ruby.
	isGC = matching(`^runtime\.(gcBgMarkWorker|gcAssistAlloc1?|gcDrainN?|bgsweep|bgscavenge|gcStart|gcMarkDone|gcMarkTermination|wbBufFlush|gcWriteBarrier|sweepone|markroot|scanobject)$` +
		`|^v8::internal::(ConcurrentMarking|MarkCompactCollector|Scavenger\w*|Sweeper|Heap::(CollectGarbage|PerformGarbageCollection|Scavenge))\b` +
		`|^((Abstract)?GangWorker|WorkerThread|ConcurrentGCThread|MarkSweep|GenMarkSweep|GenCollectedHeap)::|^VM_(G1|Gen|Parallel|Z|X|Shenandoah)\w*::doit$` +
		`|^_?(Py)?_?gc_collect_(main|generations|young|full|with_callback)$|^gc_(marks?|sweep|start|rest)(_\w+)?$`)
	// The collector also marks on idle processors, which takes no time from other
	// goroutines.
	isIdleGC  = matching(`^runtime\.gcDrainMarkWorkerIdle$`)
	isLocking = matching(`^(internal/)?sync\.\(\*(Mutex|RWMutex)\)\.|^(___?)?pthread_(mutex|rwlock|spin)_\w*lock|lll_lock_wait|^<?std::sys::sync::(mutex|rwlock)::`)
	// A thread asks for a lock some times before it sleeps, or for ever.
	isSpinning = matching(`^(___?)?pthread_(mutex|rwlock|spin)_(lock|rdlock|wrlock)(@|$)`)
	// The monitors of Java, and the lock of Python's interpreter: their threads wait in the same
	// system calls as for work.
	isMonitor     = matching(`^ObjectMonitor::(enter|EnterI|TrySpin)$`)
	isInterpreter = oneOf("take_gil")
	isParking     = matching(`^(__)?futex_(do_)?wait$|^__futex_abstimed_wait`)
	isAtomic      = matching(`^(sync/atomic|internal/runtime/atomic)\.`)
	// What a loop calls that asks again and again instead of waiting.
	isAsking  = matching(`^runtime\.(Gosched|gosched_m|selectnbrecv|selectnbsend|chanlen)$|^(__x64_|__arm64_)?sys_(sched_yield|do_poll)$|^(__)?sched_yield$`)
	isPolling = matching(`^(__x64_|__arm64_)?sys_(p?poll|p?select6?)$|^do_sys_poll$|^core_sys_select$`)
	// What sets, stops and fires timers, deadlines of connections too.
	isTimer = matching(`^time\.(NewTimer|AfterFunc|After|NewTicker|newTimer|resetTimer|stopTimer)$|^time\.\(\*(Timer|Ticker)\)\.(Reset|Stop)$` +
		`|^runtime\.\(\*timer\)\.(modify|stop|reset|maybeAdd|needsAdd)$|^runtime\.\(\*timers\)\.(addHeap|adjust|cleanHead|deleteMin|siftUp|siftDown|run)$` +
		`|^(__x64_sys|__arm64_sys|do)_(timerfd_settime|timer_settime|setitimer)$|^(timerfd_settime|timer_settime|setitimer)$`)
	isClock = matching(`^time\.(Now|Since|Until)$|^std::chrono::.*::now$|^(__vdso_|__GI_+|__)?(clock_gettime|gettimeofday)$|^(__x64_|__arm64_)?sys_clock_gettime$`)
	// Goroutines that begin, end and hand values over.
	isHandoff = matching(`^runtime\.(chansend|chanrecv|selectgo|newproc|goexit0)\d?$`)
	isCgo     = oneOf("runtime.cgocall")
	// The kernel gives memory to a program when that touches it, and takes it back.
	isFaulting = matching(`^(asm_)?exc_page_fault$|^(do_)?page_fault$|^do_(user_addr_fault|page_fault|mem_abort)$|^(__x64_|__arm64_)?(__)?sys_(munmap|madvise|brk)$`)
	// Processes begin and end; the dynamic linker is what they begin with.
	isStarting = matching(`^(os|syscall)\.(StartProcess|[Ff]orkExec|forkAndExecInChild1?)$|^(__x64_|__arm64_)?sys_(execve(at)?|v?fork|exit_group)$|^kernel_clone$|^do_exit$|^_dl_(start|main|sysdep_start|relocate_object|map_object)|^dl_main$`)
	// What compiles patterns and templates, of Go, the C library and PCRE.
	isCompiling = matching(`^regexp\.(Must)?Compile(POSIX)?$|^regexp\.compile$|^(text|html)/template\.\(\*Template\)\.(Parse|parse|Funcs)|^text/template/parse\.Parse$` +
		`|^(__)?re_compile_internal$|^regcomp$|^pcre2?_compile`)
	// What goes by a format or by reflection.
	isFormatting = matching(`^fmt\.|^encoding/(json|xml|gob)[./]|^v8::internal::Json|^(encoder_listencode|_parse)_\w+(_unicode)?$|^serde_json::|^_*(IO_)?(vf|vs|vsn|f|s|sn)?(printf|scanf)(_internal)?$|^__printf_buffer$` +
		`|^std::(num_(get|put)<|basic_ios<|locale::|[io]stream::(_M_(extract|insert)|operator)|basic_[io]?stringstream<)`)
	// Names of hosts are asked for.
	isResolving = matching(`^net\.\(\*Resolver\)\.`)
	// A ticker that fires sends to a channel only if there is room, and the runtime's own locks
	// spin for a moment.
	isBriefly = oneOf("time.sendTime", "runtime.lock2", "runtime.unlock2")
	// What a compressor of the deflate family does once for each block, whatever the
	// block's length: building and writing its tables.
	isBlockWork = matching(`flate\.\(\*(huffmanEncoder\)\.(generate|bitCounts|assignEncodingAndSize)|huffmanBitWriter\)\.(indexTokens|generateCodegen|writeDynamicHeader|writeStoredHeader|writeFixedHeader|dynamicSize|fixedSize|flush)|byLiteral|byFreq)`)
	// It moves bytes from a file to a socket within the kernel.
	isSendFile = matching(`^(internal/poll|net|syscall)\.(SendFile|sendFile|Sendfile|sendfile)\b`)
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
