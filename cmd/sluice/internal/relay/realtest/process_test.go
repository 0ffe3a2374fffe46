//go:build linux

package realtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/logtest"
)

// output is what a process writes.
type output struct{ logtest.Log }

// tail is the last lines of what was written.
func (o *output) tail(lines int) string {
	all := strings.Split(strings.TrimRight(o.String(), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n")
}

// matches finds the lines that match the expression.
func (o *output) matches(expression string) []string {
	var found []string
	re := regexp.MustCompile(expression)
	for line := range strings.Lines(o.String()) {
		if re.MatchString(line) {
			found = append(found, strings.TrimRight(line, "\n"))
		}
	}
	return found
}

// A process is a program that a test has started. It ends with the test at the
// latest.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr output
	done           chan struct{} // closed when it has ended
	err            error         // of Wait, after done
}

// start starts a program with nothing on its standard input.
func start(t testing.TB, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.WaitDelay = 5 * time.Second
	// A test binary that is killed takes its processes along.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%v: %v", s, err)
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait waits until the process has ended and returns its exit code, -1 when a
// signal ended it.
func (p *process) wait(t testing.TB, limit time.Duration) int {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-deadline.C:
		t.Fatalf("%s %q still runs after %v: %s", filepath.Base(p.cmd.Path), p.cmd.Args[1:], limit, p.stderr.tail(20))
		return 0
	}
}

// resident is the resident memory of a process in bytes.
func resident(t testing.TB, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := bytes.Cut(status, []byte("VmRSS:"))
	if !found {
		t.Fatalf("no VmRSS in %s", status)
	}
	kib, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// highWater watches the resident memory of a process; the function that it
// returns ends that and returns the highest value seen.
func highWater(t testing.TB, pid int) func() int {
	stop, result := make(chan struct{}), make(chan int, 1)
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		highest := 0
		for {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
			if f := bytes.Fields(status); err == nil && len(f) > 1 {
				pages, _ := strconv.Atoi(string(f[1]))
				highest = max(highest, pages*os.Getpagesize())
			}
			select {
			case <-tick.C:
			case <-stop:
				result <- highest
				return
			}
		}
	}()
	once := sync.OnceValue(func() int {
		close(stop)
		return <-result
	})
	t.Cleanup(func() { once() })
	return once
}
