package evidence

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

// errMissing marks a tool that is not installed, not permitted, or has nothing
// to do here.
var errMissing = errors.New("missing")

// missing makes an error of a tool that cannot be used, with what can be done.
func missing(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errMissing, fmt.Sprintf(format, args...))
}

const (
	// attachIn is how long a tool may take until it looks at the process.
	attachIn = 20 * time.Second
	// letGoIn is how long it may take to write what it saw.
	letGoIn = 20 * time.Second
)

// tool finds a program.
func tool(name, install string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", missing("%s is a tool of Linux", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", missing("%s is not installed: %s", name, install)
	}
	return path, nil
}

// A watcher is a tool that is looking at a process.
type watcher struct {
	*child.Process
	name string
}

// watch starts a tool and waits until looking reports that it sees the process.
// It ends with ctx.
func watch(ctx context.Context, cmd *exec.Cmd, looking func(*watcher) bool) (*watcher, error) {
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PERF_PAGER=cat", "PAGER=cat")
	p, err := child.Start(cmd, cmd.Args[0])
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	w := &watcher{p, cmd.Args[0]}
	timer := time.NewTimer(attachIn)
	defer timer.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !looking(w) {
		select {
		case <-look.C:
		case <-w.Gone():
			if looking(w) { // and has ended since
				return w, nil
			}
			return nil, w.refused()
		case <-ctx.Done():
			w.Stop()
			return nil, ctx.Err()
		case <-timer.C:
			w.Stop()
			return nil, fmt.Errorf("evidence: %s did not get to see the process within %v", w.name, attachIn)
		}
	}
	return w, nil
}

// refused makes an error of what a tool said that did not do its work.
func (w *watcher) refused() error {
	text := w.Said()
	const most = 300
	short := text[:min(len(text), most)]
	switch {
	case strings.Contains(text, "perf_event_paranoid") || strings.Contains(text, "No permission to enable"):
		return missing("perf is not permitted here: as root, sysctl kernel.perf_event_paranoid=1, or in a container --cap-add PERFMON")
	case strings.Contains(text, "Operation not permitted"), strings.Contains(text, "Permission denied"):
		return missing("%s is not permitted to look at the process (root, kernel.yama.ptrace_scope=0, or in a container --cap-add SYS_PTRACE): %s", w.name, short)
	}
	return fmt.Errorf("evidence: %s failed: %s", w.name, short)
}

// over lets the tool watch for a time, or until ctx ends, then asks it to detach,
// and returns when it has ended.
func (w *watcher) over(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.Gone():
	case <-ctx.Done():
	}
	return w.end(ctx)
}

func (w *watcher) end(ctx context.Context) error {
	defer w.Stop()
	_ = w.Signal(os.Interrupt) // fails only if it is gone
	within := letGoIn
	if ctx.Err() != nil {
		within = time.Second // what it writes is not wanted any more
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-w.Gone():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("evidence: %s had not ended after %v", w.name, letGoIn)
	}
}

// openFiles are what the files of a process are, with their numbers, as proc(5)
// shows them: at most 4,096 of them.
func openFiles(pid int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		d, err := os.Open(dir)
		if err != nil {
			return
		}
		defer d.Close()
		names, _ := d.Readdirnames(4096)
		for _, name := range names {
			number, err := strconv.Atoi(name)
			if err != nil {
				continue
			}
			if to, err := os.Readlink(dir + "/" + name); err == nil && !yield(to, number) {
				return
			}
		}
	}
}
