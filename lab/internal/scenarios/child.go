package scenarios

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// childLife is how long a child may live in any case: longer than the longest
// measurement, so that nothing is left behind should its parent be stopped in
// a way that leaves the pipe open.
const childLife = 30 * time.Minute

// childStart is how long a child may take to do what it was started for.
const childStart = 15 * time.Second

// A child is a process of ours that stands at the other end of a connection,
// so that its time and memory are not counted with those of the reader. It
// ends with its standard input.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	pipe  *os.File      // its standard output
	out   *bufio.Reader // reads it
	said  bounded
	gone  chan struct{}
	err   error // set before gone is closed
}

// startChild runs the named child command of the program self.
func startChild(self, name string, args ...string) (*child, error) {
	if self == "" {
		return nil, fmt.Errorf("scenarios: the program that runs the child %q is not known", name)
	}
	return startProcess(exec.Command(self, append([]string{"child", name}, args...)...), name)
}

// startProcess runs a command as a child, which errors call by that name. One
// that is not ours does not end with its standard input, but when it is stopped.
func startProcess(cmd *exec.Cmd, name string) (*child, error) {
	c := &child{cmd: cmd, gone: make(chan struct{})}
	c.cmd.Stderr = &c.said
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("scenarios: starting the child %q: %w", name, err)
	}
	c.stdin = stdin
	// A pipe of our own: with exec's, Wait closes it under the reader.
	out, in, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, fmt.Errorf("scenarios: starting the child %q: %w", name, err)
	}
	c.cmd.Stdout = in
	c.out, c.pipe = bufio.NewReader(out), out
	err = c.cmd.Start()
	in.Close()
	if err != nil {
		stdin.Close()
		out.Close()
		return nil, fmt.Errorf("scenarios: starting the child %q: %w", name, err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.gone)
	}()
	return c, nil
}

// stop ends the child and returns when its process is gone.
func (c *child) stop() {
	c.stdin.Close()
	c.cmd.Process.Kill() // fails only if it is gone already
	<-c.gone
	c.pipe.Close()
}

// line waits for the next line that the child says.
func (c *child) line() (string, error) {
	c.pipe.SetReadDeadline(time.Now().Add(2 * childStart))
	s, err := c.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("scenarios: waiting for the child: %w (%s)", err, c.why())
	}
	return strings.TrimSpace(s), nil
}

// why says what a child that did not do its work had to say. One that has
// just closed its pipes is given a moment to end.
func (c *child) why() string {
	moment := time.NewTimer(time.Second)
	defer moment.Stop()
	select {
	case <-c.gone:
		return fmt.Sprintf("the child ended: %v: %s", c.err, strings.TrimSpace(c.said.String()))
	case <-moment.C:
		return "the child is silent"
	}
}

// bounded keeps the first KiB of what is written to it.
type bounded struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.Write(p[:min(len(p), 1024-b.buf.Len())])
	return len(p), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// listenLocal listens on a free port of the loopback interface.
func listenLocal() (*net.TCPListener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
}

// acceptFrom waits for one connection from c.
func acceptFrom(l *net.TCPListener, c *child) (*net.TCPConn, error) {
	l.SetDeadline(time.Now().Add(childStart))
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-c.gone:
			l.SetDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	conn, err := l.AcceptTCP()
	if err != nil {
		return nil, fmt.Errorf("scenarios: waiting for the child's connection: %w (%s)", err, c.why())
	}
	return conn, nil
}

// inChild makes this process a good child: gone when its parent is, or when
// it has lived too long.
func inChild() {
	time.AfterFunc(childLife, func() { os.Exit(3) })
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
}

// childArgs refuses a child command with another number of arguments.
func childArgs(name string, args []string, names ...string) error {
	if len(args) != len(names) {
		return fmt.Errorf("scenarios: child %s wants %s, got %q", name, strings.Join(names, " "), args)
	}
	return nil
}

// hungUp reports whether err is what a connection gives whose other end has
// closed: how a child's work usually ends.
func hungUp(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || (errors.As(err, &op) && !op.Timeout())
}
