package proc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mostText is more than any of the files has; the longest, status, grows with
	// the groups that a user is in.
	mostText = 64 << 10
	// mostThreads is how many threads are looked at one by one. Of more than
	// that neither context switches nor waiting are known.
	mostThreads = 4096
)

func read(pid int) (Reading, error) {
	self := pid == 0 || pid == os.Getpid()
	dir := "/proc/self"
	if !self {
		dir = filepath.Join("/proc", strconv.Itoa(pid))
	}
	var r Reading
	if self {
		r.before = readOwn(dir)
	}
	text, err := text(filepath.Join(dir, "stat"))
	if err != nil {
		if gone(err) {
			return Reading{}, fmt.Errorf("proc: there is no process %d: %w", pid, fs.ErrNotExist)
		}
		return Reading{}, fmt.Errorf("proc: %w", err)
	}
	st, err := parseStat(text)
	if err != nil {
		return Reading{}, err
	}
	r.began = st.began
	r.usage = usage{cpu: st.user + st.system, user: st.user, system: st.system, threads: st.threads}
	if cpu, ok := clock(pid); ok {
		r.usage.cpu = cpu
	}
	if status, err := readStatus(filepath.Join(dir, "status")); err == nil {
		r.usage.resident = status.resident
	}
	if st.threads <= mostThreads {
		r.threads = readThreads(filepath.Join(dir, "task"))
	}
	if self {
		var u unix.Rusage
		if unix.Getrusage(unix.RUSAGE_SELF, &u) == nil {
			r.usage.user, r.usage.system = time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
		}
		r.after = readOwn(dir)
		return r, nil
	}
	r.before.io = readIO(dir)
	r.after.io = r.before.io
	return r, nil
}

// clock reads the processor time of all threads that a process has and had, in
// nanoseconds: /proc/PID/stat has it in steps of 10 ms only.
func clock(pid int) (time.Duration, bool) {
	// The clock of a process is its number, all bits turned over, above three
	// bits of which 2 says that it is what the scheduler counted:
	// clock_getcpuclockid(3), and include/linux/posix-timers.h of the kernel.
	id := int32(unix.CLOCK_PROCESS_CPUTIME_ID)
	if pid != 0 {
		id = int32(^pid)<<3 | 2
	}
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// readOwn reads what reading raises.
func readOwn(dir string) own {
	o := own{io: readIO(dir)}
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) == nil {
		o.switches = &switches{uint64(u.Nvcsw), uint64(u.Nivcsw)}
	}
	o.cpu, _ = clock(0)
	return o
}

// readIO returns nil when the file cannot be read: only the owner of the process
// may read it.
func readIO(dir string) *calls {
	text, err := text(filepath.Join(dir, "io"))
	if err != nil {
		return nil
	}
	c, err := parseIO(text)
	if err != nil {
		return nil
	}
	return &c
}

func readStatus(path string) (status, error) {
	text, err := text(path)
	if err != nil {
		return status{}, err
	}
	return parseStatus(text)
}

// readThreads reads the threads that there are at the moment. One that ends
// meanwhile is left out. It is nil when they cannot be read.
func readThreads(dir string) map[int]thread {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Readdirnames(mostThreads)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	threads := make(map[int]thread, len(names))
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		status, err := readStatus(filepath.Join(dir, name, "status"))
		if err != nil || !status.hasSwitches {
			continue
		}
		t := thread{switches: status.switches}
		if text, err := text(filepath.Join(dir, name, "schedstat")); err == nil {
			t.queued, err = parseSchedstat(text)
			t.hasQueued = err == nil
		}
		threads[tid] = t
	}
	return threads
}

// text reads a file of /proc. One that is longer than any should be is cut.
func text(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostText))
}

// gone reports whether a process, or a thread, has ended: before its file was
// opened, or before it was read.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }
