package evidence

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// startIn is how long a child may take to open its workload and warm it up.
	startIn = time.Minute
	// endIn is how long it may take to end when its time is over: a round under
	// strace can be long.
	endIn = time.Minute
)

// A worker is a child process that runs the workload.
type worker struct {
	cmd   *exec.Cmd
	dir   string
	stdin io.WriteCloser
	said  *bounded
	lines chan string   // that it writes
	heard chan struct{} // closed when there are no more
	gone  chan struct{} // closed when the process has ended
	err   error         // how, set before
}

// startWorker starts the child and waits until it has warmed up. It ends with
// ctx.
func startWorker(ctx context.Context, o Options, w Workload, m mode, dir string, d time.Duration, procs int) (*worker, error) {
	dir, err := os.MkdirTemp(dir, string(m)+"-")
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	c := &worker{dir: dir, said: &bounded{limit: 2048}, lines: make(chan string, 16), heard: make(chan struct{}), gone: make(chan struct{})}
	c.cmd = exec.Command(o.Self, "child", childName, w.Scenario.Name, w.Variant, strconv.FormatUint(o.Seed, 10),
		strconv.FormatFloat(d.Seconds(), 'f', -1, 64), string(m), dir, strconv.Itoa(procs))
	c.cmd.Stderr = c.said
	// A process that the workload started may hold the pipe.
	c.cmd.WaitDelay = 2 * time.Second
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("evidence: starting the workload: %w", err)
	}
	// A pipe of our own: with exec's, Wait closes it under the reader.
	out, in, err := os.Pipe()
	if err != nil {
		c.stdin.Close()
		return nil, fmt.Errorf("evidence: starting the workload: %w", err)
	}
	c.cmd.Stdout = in
	err = c.cmd.Start()
	in.Close()
	if err != nil {
		c.stdin.Close()
		out.Close()
		return nil, fmt.Errorf("evidence: starting the workload: %w", err)
	}
	go func() {
		defer close(c.heard)
		defer out.Close()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			select {
			case c.lines <- lines.Text():
			default: // a line that nobody waits for
			}
		}
	}()
	go func() {
		c.err = c.cmd.Wait()
		out.SetReadDeadline(time.Now()) // nothing more comes from it
		close(c.gone)
	}()
	line, err := c.line(ctx, startIn)
	if err == nil && line != "ready" {
		err = fmt.Errorf("evidence: the workload said %q and not that it is ready", line)
	}
	if err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// line waits for what the child says next.
func (c *worker) line(ctx context.Context, within time.Duration) (string, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case line := <-c.lines:
		return line, nil
	case <-c.gone:
		<-c.heard
		select {
		case line := <-c.lines: // its last words
			return line, nil
		default:
			return "", c.failed()
		}
	case <-ctx.Done():
		return "", ctx.Err()
	case <-timer.C:
		return "", fmt.Errorf("evidence: the workload has said nothing for %v", within)
	}
}

// failed says how a child ended that had not done its work.
func (c *worker) failed() error {
	text := strings.TrimSpace(c.said.String())
	switch {
	case text != "":
		return fmt.Errorf("evidence: the workload failed: %s", text)
	case c.err != nil:
		return fmt.Errorf("evidence: the workload failed: %w", c.err)
	}
	return errors.New("evidence: the workload ended too early")
}

// mark asks how many operations the child has done. That it does not say is no
// reason to stop.
func (c *worker) mark(ctx context.Context) (ops int64, ok bool) {
	if _, err := io.WriteString(c.stdin, "mark\n"); err != nil {
		return 0, false
	}
	line, err := c.line(ctx, 2*time.Second)
	if err != nil {
		return 0, false
	}
	ops, err = strconv.ParseInt(line, 10, 64)
	return ops, err == nil
}

// stop tells the child that its time is over.
func (c *worker) stop() {
	// If it is gone already, wait tells.
	_, _ = io.WriteString(c.stdin, "stop\n")
}

// wait waits for the end of the child and reads what it says of its run.
func (c *worker) wait(ctx context.Context, within time.Duration) (outcome, error) {
	defer c.kill()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c.gone:
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	case <-timer.C:
		return outcome{}, fmt.Errorf("evidence: the workload had not ended after %v", within.Round(time.Second))
	}
	if c.err != nil {
		return outcome{}, c.failed()
	}
	text, err := os.ReadFile(c.file(outcomeFile))
	if err != nil {
		return outcome{}, fmt.Errorf("evidence: %w", err)
	}
	var out outcome
	if err := json.Unmarshal(text, &out); err != nil {
		return outcome{}, fmt.Errorf("evidence: what the workload says of its run: %w", err)
	}
	return out, nil
}

func (c *worker) file(name string) string { return filepath.Join(c.dir, name) }

// kill ends the child, and returns when its process is gone.
func (c *worker) kill() {
	c.stdin.Close()
	_ = c.cmd.Process.Kill() // fails only if it is gone
	<-c.gone
}

// bounded keeps the first bytes of what is written to it, as many as limit.
type bounded struct {
	limit int
	mu    sync.Mutex
	buf   bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.Write(p[:min(len(p), b.limit-b.buf.Len())])
	return len(p), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
