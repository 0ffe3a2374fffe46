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
	cmd  *exec.Cmd
	said *bounded // on its standard error
	gone chan struct{}
}

// watch starts a tool and waits until it sees the process, which looking tells.
// It ends with ctx.
func watch(ctx context.Context, cmd *exec.Cmd, looking func(*watcher) bool) (*watcher, error) {
	w := &watcher{cmd: cmd, said: &bounded{limit: 16 << 10}, gone: make(chan struct{})}
	cmd.Stderr = w.said
	cmd.WaitDelay = 2 * time.Second
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PERF_PAGER=cat", "PAGER=cat")
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	go func() {
		_ = cmd.Wait() // whether it has succeeded, its file tells
		close(w.gone)
	}()
	timer := time.NewTimer(attachIn)
	defer timer.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !looking(w) {
		select {
		case <-look.C:
		case <-w.gone:
			if looking(w) { // and has ended since
				return w, nil
			}
			return nil, w.refused()
		case <-ctx.Done():
			w.kill()
			return nil, ctx.Err()
		case <-timer.C:
			w.kill()
			return nil, fmt.Errorf("evidence: %s did not get to see the process within %v", cmd.Args[0], attachIn)
		}
	}
	return w, nil
}

// refused makes an error of what a tool said that did not do its work.
func (w *watcher) refused() error {
	text := strings.Join(strings.Fields(w.said.String()), " ")
	const most = 300
	short := text[:min(len(text), most)]
	switch {
	case strings.Contains(text, "perf_event_paranoid") || strings.Contains(text, "No permission to enable"):
		return missing("perf is not permitted here: as root, sysctl kernel.perf_event_paranoid=1, or in a container --cap-add PERFMON")
	case strings.Contains(text, "Operation not permitted"), strings.Contains(text, "Permission denied"):
		return missing("%s is not permitted to look at the process (root, kernel.yama.ptrace_scope=0, or in a container --cap-add SYS_PTRACE): %s", w.cmd.Args[0], short)
	}
	return fmt.Errorf("evidence: %s failed: %s", w.cmd.Args[0], short)
}

// over lets the tool look for a time, or until ctx ends, then tells it to let
// go, and returns when it is gone.
func (w *watcher) over(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.gone:
	case <-ctx.Done():
	}
	return w.end(ctx)
}

func (w *watcher) end(ctx context.Context) error {
	defer w.kill()
	_ = w.cmd.Process.Signal(os.Interrupt) // fails only if it is gone
	within := letGoIn
	if ctx.Err() != nil {
		within = time.Second // what it writes is not wanted any more
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-w.gone:
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("evidence: %s had not ended after %v", w.cmd.Args[0], letGoIn)
	}
}

func (w *watcher) kill() {
	_ = w.cmd.Process.Kill() // fails only if it is gone
	<-w.gone
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
