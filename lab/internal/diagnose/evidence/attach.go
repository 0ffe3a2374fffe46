package evidence

import (
	"context"
	"errors"
	"fmt"
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

// endIn is how long a tool may take to begin and to write what it saw.
const endIn = 40 * time.Second

func program(name, install string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", missing("%s is a tool of Linux", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", missing("%s is not installed: %s", name, install)
	}
	return path, nil
}

// attach runs a tool on other processes until it ends or, where stop is above nothing, is
// interrupted that long after it has said attached. It ends with ctx.
func attach(ctx context.Context, cmd *exec.Cmd, attached string, stop time.Duration) error {
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PERF_PAGER=cat", "PAGER=cat")
	p, err := child.Start(cmd, cmd.Args[0])
	if err != nil {
		return err
	}
	defer p.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	late := time.NewTimer(endIn + stop)
	defer late.Stop()
	var over <-chan time.Time
	for {
		select {
		case <-p.Gone():
			if err := p.Wait(ctx, time.Second); err != nil && over == nil {
				return refused(cmd.Args[0], p.Said())
			}
			return nil
		case <-look.C:
			if stop > 0 && over == nil && strings.Contains(p.Said(), attached) {
				over = time.After(stop)
			}
		case <-over:
			_ = p.Signal(os.Interrupt) // fails only if it is gone
			stop = 0
		case <-ctx.Done():
			_ = p.Signal(os.Interrupt) // strace lets go of the process then
			_ = p.Wait(context.WithoutCancel(ctx), time.Second)
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("%s had not ended after %v", cmd.Args[0], endIn)
		}
	}
}

// refused makes an error of what a tool said that did not do its work.
func refused(name, said string) error {
	short := said[:min(len(said), 300)]
	switch {
	case strings.Contains(said, "perf_event_paranoid") || strings.Contains(said, "No permission to enable"):
		return missing("perf is not permitted here: as root, sysctl kernel.perf_event_paranoid=1, or in a container --cap-add PERFMON")
	case strings.Contains(said, "Operation not permitted"), strings.Contains(said, "Permission denied"):
		return missing("%s may not look at the process (root, kernel.yama.ptrace_scope=0, or in a container --cap-add SYS_PTRACE): %s", name, short)
	}
	return fmt.Errorf("%s failed: %s", name, short)
}

// family is a process with all that descend from it.
func family(pid int) []int {
	list := []int{pid}
	for i := 0; i < len(list) && len(list) < 1000; i++ {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", list[i]))
		for _, task := range tasks {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", list[i], task.Name()))
			for word := range strings.FieldsSeq(string(text)) {
				if n, err := strconv.Atoi(word); err == nil {
					list = append(list, n)
				}
			}
		}
	}
	return list
}

// pids are the numbers of a family as tools take them.
func pids(pid int) string {
	var words []string
	for _, n := range family(pid) {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
