// Package child starts processes and ends them: parts of a measurement that run
// in a process of their own, so that their time and memory are not counted with
// those of the others, and targets.
//
// A Process ends with its parent: a command of this program when its standard input
// ends (Begin), and on Linux any process when this one ends, for whatever reason. On
// Linux it takes the processes along that it has started. Its methods may be called by
// several goroutines, except Line.
package child

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// Within is how long a child may take to do what it was started for, to listen
	// say.
	Within = 15 * time.Second
	// mostSaid is how much of its standard error is kept: the last bytes.
	mostSaid = 4 << 10
	// moment is how long the end of a process may come after that of its output, and what
	// others write to its pipes after its own.
	moment = time.Second
	// mostLines is how many lines of its standard output wait to be read.
	mostLines = 64
)

// A Process is one that was started.
type Process struct {
	name  string
	cmd   *exec.Cmd
	mu    sync.Mutex     // of stdin
	stdin io.WriteCloser // nil where the command has its own
	lines chan string    // of its standard output; closed when there are no more
	quit  chan struct{}  // closed by Stop: lines are not read any more
	once  sync.Once
	said  Tail          // on standard error
	gone  chan struct{} // closed when it has ended
	err   error         // how; set before gone is closed
}

// Command is a hidden command of the program self, which runs it as "child NAME
// ARGUMENTS...".
func Command(self, name string, args ...string) *exec.Cmd {
	return exec.Command(self, append([]string{"child", name}, args...)...)
}

// Start starts a command, which errors call by that name. Stop must be called.
func Start(cmd *exec.Cmd, name string) (*Process, error) {
	p := &Process{name: name, cmd: cmd, lines: make(chan string, mostLines), quit: make(chan struct{}), gone: make(chan struct{})}
	failed := func(err error) error { return fmt.Errorf("starting %s: %w", name, err) }
	if cmd.Path == "" {
		return nil, failed(errors.New("the program is not known"))
	}
	var err error
	if cmd.Stdin == nil {
		if p.stdin, err = cmd.StdinPipe(); err != nil {
			return nil, failed(err)
		}
	}
	// Pipes of our own: with exec's, Wait closes them under the reader.
	out, outIn, outErr := os.Pipe()
	errs, errsIn, errsErr := os.Pipe()
	if err = errors.Join(outErr, errsErr); err == nil {
		cmd.Stdout, cmd.Stderr = outIn, errsIn
		err = start(cmd, out, errs)
	}
	outIn.Close()
	errsIn.Close()
	if err != nil {
		p.CloseStdin()
		out.Close()
		errs.Close()
		return nil, failed(err)
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer errs.Close()
		io.Copy(&p.said, leftover{errs})
	}()
	go func() {
		defer close(p.lines)
		defer out.Close()
		for lines := bufio.NewScanner(leftover{out}); lines.Scan(); {
			select {
			case p.lines <- lines.Text():
			case <-p.quit:
			}
		}
	}()
	go func() {
		endGroup(cmd.Process.Pid)
		p.err = cmd.Wait()
		// A process that left its group may hold the other ends.
		soon := time.Now().Add(moment)
		out.SetReadDeadline(soon)
		errs.SetReadDeadline(soon)
		<-heard
		close(p.gone)
	}()
	return p, nil
}

// A leftover is a pipe whose writer may be gone. The deadline that it gets then bounds the wait for
// more, not the time in which what is there is taken: a reader that comes late, because
// the machine was busy or its own reader slow, gets all of it.
type leftover struct{ pipe *os.File }

func (l leftover) Read(b []byte) (int, error) {
	n, err := l.pipe.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		l.pipe.SetReadDeadline(time.Now().Add(moment / 4))
		n, err = l.pipe.Read(b)
	}
	return n, err
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Gone is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Said is the end of what came on standard error, in one line.
func (p *Process) Said() string { return p.said.String() }

// Line waits for the next line of standard output, at most for a time.
func (p *Process) Line(ctx context.Context, within time.Duration) (string, error) {
	select {
	case line, ok := <-p.lines:
		if ok {
			return strings.TrimSpace(line), nil
		}
		return "", fmt.Errorf("%w: %w", io.EOF, p.Why())
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for %s: %w", p.name, context.Cause(ctx))
	case <-time.After(within):
		return "", fmt.Errorf("%s has said nothing for %v", p.name, within)
	}
}

// Discard reads the lines that are left of standard output, so that the process need not wait to write them.
func (p *Process) Discard() {
	go func() {
		for range p.lines {
		}
	}()
}

// Tell writes a line to standard input.
func (p *Process) Tell(line string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		return fmt.Errorf("asking %s to %s: %w: %w", p.name, line, err, p.Why())
	}
	return nil
}

// Why says how a process ended that did not do its work. One that has just closed its
// pipes is given a moment to end.
func (p *Process) Why() error {
	if p.ends(context.Background(), moment) {
		return p.Ended()
	}
	return fmt.Errorf("%s is silent", p.name)
}

// ends waits for the end, at most for a time, and reports whether it has come.
func (p *Process) ends(ctx context.Context, within time.Duration) bool {
	select {
	case <-p.gone:
	case <-ctx.Done():
	case <-time.After(within):
	}
	select {
	case <-p.gone: // also when a busy machine made both late
		return true
	default:
		return false
	}
}

// Ended says how the process ended, in its own words if there are any; nil while
// it has not.
func (p *Process) Ended() error {
	select {
	case <-p.gone:
	default:
		return nil
	}
	switch text := p.said.String(); {
	case text != "" && p.err != nil:
		return fmt.Errorf("%s ended: %w: %s", p.name, p.err, text)
	case text != "":
		return fmt.Errorf("%s ended: %s", p.name, text)
	case p.err != nil:
		return fmt.Errorf("%s ended: %w", p.name, p.err)
	}
	return fmt.Errorf("%s ended without a word", p.name)
}

// Wait waits for the end, at most for a time, and returns what the process ended
// with: nil for exit code 0.
func (p *Process) Wait(ctx context.Context, within time.Duration) error {
	switch {
	case p.ends(ctx, within) && p.err != nil:
		return p.Ended()
	case p.Ended() != nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%s had not ended after %v", p.name, within.Round(time.Second))
}

// CloseStdin closes standard input, on which a child of this program ends.
func (p *Process) CloseStdin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stdin != nil {
		p.stdin.Close()
	}
}

// Stop ends the process and returns when it is gone. Once more is no harm.
func (p *Process) Stop() {
	p.once.Do(func() { close(p.quit) })
	p.CloseStdin()
	p.cmd.Process.Kill() // fails only if it is gone already
	<-p.gone
}

// End asks the process to end with SIGTERM, and ends it when it does not in time.
func (p *Process) End(within time.Duration) {
	p.CloseStdin()
	// Where there are no signals, or it is gone, Stop does.
	if p.cmd.Process.Signal(syscall.SIGTERM) == nil {
		p.ends(context.Background(), within)
	}
	p.Stop()
}

// Begin makes this process a good child: gone when its standard input ends, which
// is when its parent is gone, or when it has lived too long.
func Begin(life time.Duration) {
	Expire(life)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
}

// Expire ends this process when it has lived too long, should its parent be stopped
// in a way that leaves the pipe open.
func Expire(life time.Duration) { time.AfterFunc(life, func() { os.Exit(3) }) }

// A Tail keeps the last bytes of what is written to it, 4 KiB. Its methods may be
// called concurrently.
type Tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-mostSaid):]...)
	t.buf = bytes.Clone(t.buf[max(0, len(t.buf)-mostSaid):])
	return len(p), nil
}

// String is what was kept, in one line.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimPrefix(strings.Join(strings.Fields(string(t.buf)), " "), "lab: ")
}
