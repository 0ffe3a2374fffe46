package calibrate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

const (
	// floorName is the child command that answers.
	floorName = "load-floor"
	// floorLife is how long it may live in any case, longer than the longest
	// round.
	floorLife = 2 * time.Hour
	// floorStart is how long it may take to listen.
	floorStart = 15 * time.Second
)

// Children are the hidden commands by which this package starts processes of the
// program, by name: "lab child NAME ARGUMENTS...".
func Children() map[string]func(args []string) error {
	return map[string]func([]string) error{floorName: floorChild}
}

// floorChild listens on a free port of the loopback interface, says its address
// in a line, and answers until its standard input ends.
func floorChild(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("calibrate: child %s wants PROTOCOL, got %q", floorName, args)
	}
	protocol := load.Protocol(args[0])
	if err := checkProtocol(protocol); err != nil {
		return err
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	// An interrupt at a terminal goes to both of us; the parent reports what there
	// is, and ends us then.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	time.AfterFunc(floorLife, func() { os.Exit(3) })
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if _, err := fmt.Println(l.Addr()); err != nil {
		return err
	}
	return serveFloor(l, protocol)
}

// A process is a child that answers.
type process struct {
	addr  string
	cmd   *exec.Cmd
	stdin io.Closer
}

// startFloor starts the child of the program self. stop must be called.
func startFloor(ctx context.Context, self string, protocol load.Protocol) (*process, error) {
	if self == "" {
		return nil, errors.New("calibrate: the program that answers is not known")
	}
	failed := func(err error) error { return fmt.Errorf("calibrate: starting a target of our own: %w", err) }
	cmd := exec.Command(self, "child", floorName, string(protocol))
	var said bounded
	cmd.Stderr = &said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, failed(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		stdin.Close()
		return nil, failed(err)
	}
	if err := cmd.Start(); err != nil {
		stdin.Close()
		stdout.Close()
		return nil, failed(err)
	}
	p := &process{cmd: cmd, stdin: stdin}
	ctx, cancel := context.WithTimeout(ctx, floorStart)
	defer cancel()
	kept := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(io.LimitReader(stdout, 1024)).ReadString('\n')
	if err == nil {
		_, _, err = net.SplitHostPort(strings.TrimSpace(line))
	}
	if !kept() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		p.stop()
		return nil, failed(fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String())))
	}
	p.addr = strings.TrimSpace(line)
	return p, nil
}

// stop ends the child and returns when its process is gone.
func (p *process) stop() {
	p.stdin.Close()
	p.cmd.Process.Kill() // fails only if it is gone already
	p.cmd.Wait()
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
