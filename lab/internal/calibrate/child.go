package calibrate

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/load"
)

const (
	// floorName is the child command that answers.
	floorName = "load-floor"
	// floorLife is how long it may live in any case, longer than the longest
	// round.
	floorLife = 2 * time.Hour
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
	child.Begin(floorLife)
	if _, err := fmt.Println(l.Addr()); err != nil {
		return err
	}
	return serveFloor(l, protocol)
}

// A floor is a target that only answers, in a process of its own.
type floor struct {
	*child.Process
	addr string
}

// startFloor starts the child of the program self. Stop must be called.
func startFloor(ctx context.Context, self string, protocol load.Protocol) (*floor, error) {
	p, err := child.Start(child.Command(self, floorName, string(protocol)), "a target of our own")
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	line, err := p.Line(ctx, child.Within)
	if err == nil {
		_, _, err = net.SplitHostPort(line)
	}
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	return &floor{p, line}, nil
}
