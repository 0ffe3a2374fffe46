package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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
