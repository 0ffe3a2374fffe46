package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

// perfRate is how many samples perf takes a second of each processor: a prime,
// so that it does not keep step with what the workload does.
const perfRate = 499

// scriptIn is how long perf script may take to put names to the samples.
const scriptIn = time.Minute

// perfRecordOf samples the stacks of a process, the kernel's too. cycles
// says that the machine counts cycles; otherwise perf samples by a clock.
func perfRecordOf(ctx context.Context, pid int, dir string, d time.Duration, cycles bool) (*Profile, error) {
	path, err := findPerf()
	if err != nil {
		return nil, err
	}
	dir, err = os.MkdirTemp(dir, "perf-record-")
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	defer os.RemoveAll(dir)
	event := "cpu-clock"
	if cycles {
		event = "cycles"
	}
	data := filepath.Join(dir, "perf.data")
	// -N: leave nothing in the cache of the home directory.
	args := []string{"record", "-N", "-g", "-e", event, "-F", strconv.Itoa(perfRate), "-o", data, "-p", strconv.Itoa(pid)}
	start := func() *exec.Cmd {
		cmd := exec.Command(path, args...)
		cmd.Dir = dir
		return cmd
	}
	c, err := newControl()
	if err != nil {
		return nil, err
	}
	defer c.close()
	w, err := watchControlled(ctx, start(), c)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errMissing) {
		// perf before 5.9 has no command to begin. It begins soon after it has
		// written something.
		w, err = watch(ctx, start(), func(*watcher) bool {
			info, err := os.Stat(data)
			return err == nil && info.Size() > 0
		})
	}
	if err != nil {
		return nil, err
	}
	if err := w.over(ctx, d); err != nil {
		return nil, err
	}
	if info, err := os.Stat(data); err != nil || info.Size() == 0 {
		return nil, w.refused()
	}
	p, err := perfScript(ctx, path, dir, data)
	if err == nil && os.Geteuid() != 0 && !seesKernel(p) {
		err = errNoKernel
	}
	return p, err
}

// A control is the pair of pipes that carries the command to begin to perf record,
// and its answer. It must stay open as long as perf runs: an answer without a
// reader ends perf.
type control struct {
	hear, answer *os.File // perf's ends
	tell, listen *os.File
	on           atomic.Bool
	heard        chan struct{}
}

func newControl() (*control, error) {
	c := &control{heard: make(chan struct{})}
	var err error
	if c.hear, c.tell, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	if c.listen, c.answer, err = os.Pipe(); err != nil {
		c.hear.Close()
		c.tell.Close()
		return nil, fmt.Errorf("evidence: %w", err)
	}
	go func() {
		defer close(c.heard)
		if n, err := c.listen.Read(make([]byte, 16)); err == nil && n > 0 {
			c.on.Store(true)
		}
	}()
	return c, nil
}

func (c *control) close() {
	for _, f := range []*os.File{c.hear, c.tell, c.listen, c.answer} {
		f.Close()
	}
	<-c.heard
}

// watchControlled starts perf record with its counters off, and has them switched
// on when all is ready: before that it reads the names of the whole kernel,
// which can take longer than the time that is asked for.
func watchControlled(ctx context.Context, cmd *exec.Cmd, c *control) (*watcher, error) {
	cmd.Args = append(cmd.Args, "-D", "-1", "--control", "fd:3,4")
	cmd.ExtraFiles = []*os.File{c.hear, c.answer}
	if _, err := c.tell.WriteString("enable\n"); err != nil { // it waits in the pipe
		return nil, fmt.Errorf("evidence: %w", err)
	}
	return watch(ctx, cmd, func(*watcher) bool { return c.on.Load() })
}

// errIdle stands beside a profile with nothing in it.
var errIdle = errors.New("evidence: no samples: the process hardly ran")

// errNoKernel stands beside a profile of the program's own part.
var errNoKernel = errors.New("evidence: without the kernel's part, which is for root, or as root sysctl kernel.perf_event_paranoid=1")

func seesKernel(p *Profile) bool {
	for _, s := range p.Stacks {
		for _, f := range s.Frames {
			if f.File == kernelFile {
				return true
			}
		}
	}
	return false
}

func perfScript(ctx context.Context, path, dir, data string) (*Profile, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptIn)
	defer cancel()
	// Without inlined functions: perf asks addr2line for each of them.
	cmd := exec.CommandContext(ctx, path, "script", "--no-inline", "-F", "comm,tid,period,event,ip,sym,dso", "-i", data)
	cmd.Dir = dir
	cmd.WaitDelay = 2 * time.Second
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir)
	said := &child.Tail{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	p, err := readPerfScript(out, int64(time.Second)/perfRate)
	if errors.Is(err, ErrTooLarge) {
		cancel()
	}
	_, _ = io.Copy(io.Discard, out)
	waitErr := cmd.Wait()
	if errors.Is(err, errNoSample) && waitErr == nil {
		return &Profile{Unit: unitTime, Stacks: []Stack{}}, errIdle
	}
	if p == nil && waitErr != nil {
		return nil, fmt.Errorf("evidence: perf script: %w: %s", waitErr, said.String())
	}
	return p, err
}
