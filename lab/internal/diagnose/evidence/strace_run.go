package evidence

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// straceFor bounds the time under strace, where a call takes some 50 µs.
const straceFor = 1500 * time.Millisecond

func findStrace() (string, error) {
	return tool("strace", "apt-get install strace")
}

// straceOf records the system calls of a process. mark returns how many
// operations the process has done; it may be nil.
func straceOf(ctx context.Context, pid int, dir string, d time.Duration, mark func() (int64, bool)) (*Calls, error) {
	path, err := findStrace()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "strace-")
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	// Nothing of the data is written, but all lengths of what is given in pieces;
	// signals are left out.
	cmd := exec.Command(path, "-f", "-T", "-ttt", "-s", "0", "-e", "signal=none", "-e", "abbrev=!readv,writev,preadv,pwritev,preadv2,pwritev2,sendmsg,recvmsg,vmsplice", "-o", file.Name(), "-p", strconv.Itoa(pid))
	w, err := watch(ctx, cmd, func(w *watcher) bool { return strings.Contains(w.Said(), " attached") })
	if err != nil {
		return nil, err
	}
	known := descriptorsOf(pid)
	var began, ops int64
	marked := false
	if mark != nil {
		known[0], known[1] = ours, ours
		began, marked = mark()
	}
	timer := time.NewTimer(min(d, straceFor))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.Gone():
	case <-ctx.Done():
	}
	if marked && ctx.Err() == nil {
		if now, ok := mark(); ok {
			ops = max(now-began, 0)
		}
	}
	if err := w.end(ctx); err != nil {
		return nil, err
	}
	calls, err := readStrace(file, known)
	if calls != nil {
		calls.Ops = ops
	}
	return calls, err
}

// descriptorsOf finds the eventfds of a process.
func descriptorsOf(pid int) map[int]descriptor {
	known := make(map[int]descriptor)
	for to, number := range openFiles(pid) {
		if to == "anon_inode:[eventfd]" {
			known[number] = wakeups
		}
	}
	return known
}
