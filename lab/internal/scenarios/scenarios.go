package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

type group struct {
	rank      int // its place in a report, and in the time that there is
	scenarios func() []lab.Scenario
}

var (
	groups   []group
	children = map[string]func(args []string) error{}
)

// register adds the scenarios of a file to those of bench, as a package variable of
// that file: var _ = register(30, somethingGroup). The lower its rank, the earlier it is
// run and shown: below 20 stands what the README has figures of.
func register(rank int, scenarios func() []lab.Scenario) bool {
	groups = append(groups, group{rank, scenarios})
	return true
}

// A childCommand is a hidden command that a scenario starts as a process of ours, which
// stands at the other end of a connection. T is what it is to do.
type childCommand[T any] string

func registerChild[T any](name string, run func(T) error) childCommand[T] {
	children[name] = func(args []string) error {
		var work T
		if err := json.Unmarshal([]byte(strings.Join(args, " ")), &work); err != nil {
			return fmt.Errorf("scenarios: child %s: %w", name, err)
		}
		child.Expire(childLife)
		return run(work)
	}
	return childCommand[T](name)
}

func (c childCommand[T]) start(self string, work T) (*child.Process, error) {
	text, err := json.Marshal(work)
	if err != nil {
		return nil, err
	}
	p, err := child.Start(child.Command(self, string(c), string(text)), "child "+string(c))
	if err != nil {
		return nil, fmt.Errorf("scenarios: %w", err)
	}
	return p, nil
}

// All returns every scenario in the order of a report. The slices in it are
// the caller's own.
func All() []lab.Scenario {
	var all []lab.Scenario
	for _, g := range slices.SortedStableFunc(slices.Values(groups), func(a, b group) int { return cmp.Compare(a.rank, b.rank) }) {
		all = append(all, g.scenarios()...)
	}
	return all
}

// Children returns the hidden child commands by name. The program runs them
// as "Self child NAME args..."; each ends when its standard input does.
func Children() map[string]func(args []string) error { return maps.Clone(children) }

// A runner is a lab.Runner of two functions. close may be nil.
type runner struct {
	run   func(ops int) (lab.Sample, error)
	close func() error
}

func (r runner) Run(ops int) (lab.Sample, error) { return r.run(ops) }

func (r runner) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}

// childLife is how long a child may live in any case: longer than the longest
// measurement, so that nothing is left behind should its parent be stopped in
// a way that leaves the pipe open.
const childLife = 30 * time.Minute

func lineOf(c *child.Process) (string, error) {
	s, err := c.Line(context.Background(), 2*child.Within)
	if err != nil {
		return "", fmt.Errorf("scenarios: %w", err)
	}
	return s, nil
}

func listenLocal() (*net.TCPListener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
}

func connected(l *net.TCPListener) (here, there *net.TCPConn, err error) {
	if there, err = net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr)); err != nil {
		return nil, nil, err
	}
	if here, err = l.AcceptTCP(); err != nil {
		there.Close()
	}
	return here, there, err
}

func acceptFrom(l *net.TCPListener, c *child.Process) (*net.TCPConn, error) {
	l.SetDeadline(time.Now().Add(child.Within))
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-c.Gone():
			l.SetDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	conn, err := l.AcceptTCP()
	if err != nil {
		return nil, fmt.Errorf("scenarios: waiting for the child's connection: %w (%w)", err, c.Why())
	}
	return conn, nil
}
