package proc

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mostThreads is how many threads are looked at one by one. Of more than that waiting is
// not known.
const mostThreads = 4096

func read(pid int) (Reading, error) {
	dir := "/proc/self"
	// The clock of a process is its number, all bits turned over, above three
	// bits of which 2 says that it is what the scheduler counted:
	// clock_getcpuclockid(3), and include/linux/posix-timers.h of the kernel.
	// /proc/PID/stat has it in steps of 10 ms only.
	id := int32(unix.CLOCK_PROCESS_CPUTIME_ID)
	if pid != 0 {
		dir = "/proc/" + strconv.Itoa(pid)
		id = int32(^pid)<<3 | 2
	}
	statm, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return Reading{}, err
	}
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		if err == unix.EINVAL || err == unix.ESRCH {
			err = fs.ErrNotExist // it has ended meanwhile
		}
		return Reading{}, fmt.Errorf("clock_gettime: %w", err)
	}
	r := Reading{cpu: time.Duration(t.Nano())}
	if fields := strings.Fields(string(statm)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64) // 0 of one that is ending
		r.resident = pages * int64(os.Getpagesize())
	}
	threads, err := os.ReadDir(dir + "/task")
	if err != nil || len(threads) > mostThreads {
		return r, nil
	}
	for _, thread := range threads {
		// Nanoseconds on a processor, nanoseconds waiting for one, and how often it got one.
		text, err := os.ReadFile(dir + "/task/" + thread.Name() + "/schedstat")
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 2 {
			continue // it has ended, or the kernel does not count
		}
		tid, err1 := strconv.Atoi(thread.Name())
		waited, err2 := strconv.ParseInt(fields[1], 10, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		if r.queued == nil {
			r.queued = map[int]time.Duration{}
		}
		r.queued[tid] = time.Duration(waited)
	}
	return r, nil
}
