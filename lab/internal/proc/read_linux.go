package proc

import (
	"bytes"
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

// CPU is the user and system time of all threads of a process, the calling one for 0.
//
// The clock of a process is its number, all bits inverted, above three bits of which 2
// says that it is what the scheduler counted: clock_getcpuclockid(3), and
// include/linux/posix-timers.h of the kernel. /proc/PID/stat has it in steps of 10 ms only.
func CPU(pid int) (time.Duration, error) {
	clock := int32(unix.CLOCK_PROCESS_CPUTIME_ID)
	if pid != 0 {
		clock = int32(^pid)<<3 | 2
	}
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		if err == unix.EINVAL || err == unix.ESRCH {
			err = fs.ErrNotExist // it has ended meanwhile
		}
		return 0, fmt.Errorf("the processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// Resident is the bytes of a process that are in memory, the calling one for 0.
func Resident(pid int) (int64, error) {
	text, err := os.ReadFile(dir(pid) + "/statm")
	if err != nil && unix.Kill(pid, 0) == unix.EPERM {
		err = fmt.Errorf("it is another user's, which /proc hides here (hidepid): %w", fs.ErrPermission)
	}
	if err != nil {
		return 0, err
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0, fmt.Errorf("the memory of process %d is %.40q: %w", pid, text, err)
	}
	return pages * int64(os.Getpagesize()), nil
}

func dir(pid int) string {
	if pid == 0 {
		return "/proc/self"
	}
	return "/proc/" + strconv.Itoa(pid)
}

// fields are those of /proc/PID/stat from the third on: the second is the name in parentheses, and may have some.
func fields(pid int) []string {
	text, _ := os.ReadFile(dir(pid) + "/stat")
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// isZombie reports whether a process has ended, and its parent has not asked for its end: its
// number is still there, and there is nothing to look at.
func isZombie(pid int) bool {
	list := fields(pid)
	return len(list) > 0 && (list[0] == "Z" || list[0] == "X")
}

// mostProcesses is how many a family has at most.
const mostProcesses = 1000

// Family lists a process and its descendants.
func Family(pid int) []int {
	list := []int{pid}
	for i := 0; i < len(list) && len(list) < mostProcesses; i++ {
		tasks, _ := os.ReadDir(dir(list[i]) + "/task")
		for _, task := range tasks {
			text, _ := os.ReadFile(dir(list[i]) + "/task/" + task.Name() + "/children")
			for word := range strings.FieldsSeq(string(text)) {
				if n, err := strconv.Atoi(word); err == nil {
					list = append(list, n)
				}
			}
		}
	}
	return list
}

func read(pid int) (Reading, error) {
	r := Reading{cpu: map[int]time.Duration{}}
	if isZombie(pid) {
		return r, fs.ErrNotExist
	}
	err := r.add(pid)
	if err != nil || pid == 0 {
		return r, err
	}
	for _, n := range Family(pid)[1:] {
		_ = r.add(n) // fails when it has ended meanwhile
	}
	return r, nil
}

func (r *Reading) add(pid int) error {
	resident, err := Resident(pid)
	if err != nil {
		return err
	}
	used, err := CPU(pid)
	if err != nil {
		return err
	}
	r.cpu[pid], r.resident, r.all = used, r.resident+resident, r.all+used
	if list := fields(pid); pid != 0 && len(list) > 14 {
		for _, field := range list[13:15] { // cutime and cstime, of children that it has asked for
			steps, _ := strconv.ParseInt(field, 10, 64)
			r.all += time.Duration(steps) * tick
		}
	}
	dir := dir(pid)
	threads, err := os.ReadDir(dir + "/task")
	if err != nil || len(threads) > mostThreads {
		return nil
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		waited, known := Waited(dir + "/task/" + thread.Name())
		if err != nil || !known {
			continue
		}
		if r.queued == nil {
			r.queued = map[int]time.Duration{}
		}
		r.queued[tid] = waited
	}
	return nil
}

// Waited is how long a thread, by its directory in /proc, was ready and had no processor; not known when it has
// ended, or the kernel does not count.
func Waited(thread string) (waited time.Duration, known bool) {
	text, _ := os.ReadFile(thread + "/schedstat")
	var worked int64
	_, err := fmt.Sscan(string(text), &worked, (*int64)(&waited))
	return waited, err == nil
}
