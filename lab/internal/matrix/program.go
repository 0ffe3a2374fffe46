package matrix

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// How long a process may take to listen, and to end when it is asked to.
const (
	startWithin = 30 * time.Second
	endWithin   = 5 * time.Second
)

// Of the lines of a target: the first, which its address follows; and the one of
// a target that keeps files, which its directory follows.
const (
	listening = "listening on "
	keeping   = "the log is in "
	removed   = ", which is removed at the end"
)

// A Program starts targets as processes of a program, whose first line of output
// says where they listen. A target's files are in a temporary directory of its
// own, which it removes when it ends.
type Program struct {
	Path string
	Env  []string // beside its own
}

// Start starts a target and returns when it listens. The process ends with this
// one.
func (p Program) Start(ctx context.Context, t Target) (Process, error) {
	c := &process{cmd: exec.Command(p.Path, t.Args...), gone: make(chan struct{})}
	if err := c.begin(p.Env); err != nil {
		return nil, err
	}
	line := make(chan error, 1)
	go func() { line <- c.listen() }()
	late := time.NewTimer(startWithin)
	defer late.Stop()
	var err error
	select {
	case err = <-line:
	case <-late.C:
		err = fmt.Errorf("it does not listen within %v", startWithin)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// process is a target that was started.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *os.File               // its standard output
	errs  *os.File               // and standard error
	said  tail                   // what came on the latter
	dir   atomic.Pointer[string] // set when it has said it
	addr  string
	gone  chan struct{} // closed when it has ended
	err   error         // how; set before gone is closed
	once  sync.Once
	left  error // what Stop returned
}

// begin starts the process.
func (c *process) begin(env []string) error {
	if len(env) > 0 {
		c.cmd.Env = append(os.Environ(), env...)
	}
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	c.stdin = stdin
	// Pipes of our own: with exec's, Wait closes them under the reader.
	out, outIn, outErr := os.Pipe()
	errs, errsIn, errsErr := os.Pipe()
	if err = errors.Join(outErr, errsErr); err == nil {
		c.out, c.errs, c.cmd.Stdout, c.cmd.Stderr = out, errs, outIn, errsIn
		err = start(c.cmd, out, errs)
	}
	outIn.Close()
	errsIn.Close()
	if err != nil {
		stdin.Close()
		out.Close()
		errs.Close()
		return err
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		io.Copy(&c.said, errs)
	}()
	go func() {
		c.err = c.cmd.Wait()
		<-heard
		close(c.gone)
	}()
	return nil
}

// listen waits for the first line. What comes after it is read and dropped.
func (c *process) listen() error {
	out := bufio.NewReader(c.out)
	line, err := out.ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), listening)
	switch {
	case ok:
		c.addr, _, _ = strings.Cut(addr, " ")
		go c.follow(out)
		return nil
	case err != nil:
		<-c.ending()
		if text := c.said.String(); text != "" {
			return errors.New(text)
		}
		return fmt.Errorf("it says nothing: %w", err)
	}
	return fmt.Errorf("its first line is %.100q, not where it listens", line)
}

// follow reads what else is said, and remembers the directory.
func (c *process) follow(out *bufio.Reader) {
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			return
		}
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), keeping); ok {
			if dir, ok := strings.CutSuffix(dir, removed); ok {
				c.dir.Store(&dir)
			}
		}
	}
}

// ending is closed when the process has ended, or has had the time to.
func (c *process) ending() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		moment := time.NewTimer(time.Second)
		defer moment.Stop()
		select {
		case <-c.gone:
		case <-moment.C:
		}
	}()
	return done
}

func (c *process) Addr() string { return c.addr }
func (c *process) PID() int     { return c.cmd.Process.Pid }

// Kept counts what is in the directory. Files that go while it counts are none.
func (c *process) Kept() (sum int64) {
	dir := c.dir.Load()
	if dir == nil {
		return 0
	}
	filepath.WalkDir(*dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

func (c *process) Ended() error {
	select {
	case <-c.gone:
	default:
		return nil
	}
	if text := c.said.String(); text != "" {
		return errors.New(text)
	}
	if c.err != nil {
		return c.err
	}
	return errors.New("without a word")
}

// Stop asks the process to end, and ends it when it does not in time.
func (c *process) Stop() error {
	c.once.Do(func() {
		c.stdin.Close()
		if c.cmd.Process.Signal(syscall.SIGTERM) != nil {
			c.cmd.Process.Kill() // where there are no signals, or it is gone
		}
		late := time.NewTimer(endWithin)
		defer late.Stop()
		select {
		case <-c.gone:
		case <-late.C:
			c.cmd.Process.Kill()
			<-c.gone
		}
		c.out.Close()
		c.errs.Close()
		// One that was killed has not done it.
		if dir := c.dir.Load(); dir != nil {
			c.left = os.RemoveAll(*dir)
		}
	})
	return c.left
}

// tail keeps the last lines of what is written to it, up to 1 KiB.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 1 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-most):]...)
	t.buf = bytes.Clone(t.buf[max(0, len(t.buf)-most):])
	return len(p), nil
}

// String is what was said, in one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimPrefix(strings.Join(strings.Fields(string(t.buf)), " "), "lab: ")
}
