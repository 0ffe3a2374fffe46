package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// A Workload is a variant of a scenario.
type Workload struct {
	Name     string // what Evidence calls it
	Scenario *lab.Scenario
	Variant  string
}

// Options says how evidence is collected.
type Options struct {
	Self     string        // the path of a program that answers the child commands; Collect needs it
	Each     time.Duration // for each tool; 0 is DefaultEach, and more than LongestEach is that
	Seed     uint64
	Tools    []string          // names from Tools(); empty is all of them
	Dir      string            // where the temporary directory goes; empty is the system's
	PID      int               // FromURL: the process that strace and perf look at; 0 is none
	Progress func(tool string) // called before each tool is used; may be nil
}

// Times for each tool. The execution trace and strace are shorter: a second, and
// a second and a half.
const (
	DefaultEach = 3 * time.Second
	LongestEach = time.Minute
)

// dirPrefix begins the name of the directory that everything is written to.
const dirPrefix = "sluice-diagnose-"

// traceFor is how long the execution trace is: what it holds grows by some
// megabytes a second, and takes as long to read.
const traceFor = time.Second

func (o Options) each() time.Duration {
	if o.Each <= 0 {
		return DefaultEach
	}
	return min(o.Each, LongestEach)
}

// Collect runs a workload once for each of the tools, in a child process of
// the program o.Self, which has to answer the commands of Children. A tool that cannot
// be used is listed in Evidence.Tools and is no error. It is an error when no tool
// can be used, or when the workload or a tool does not exist. When ctx ends, Collect
// returns what it has and the error of ctx. In all cases the processes and files
// that it made are gone when it returns.
func Collect(ctx context.Context, w Workload, o Options) (Evidence, error) {
	e := Evidence{Workload: w.Name, Tools: []Tool{}}
	tools, err := chosen(o.Tools)
	if err != nil {
		return e, err
	}
	if w.Scenario == nil || o.Self == "" {
		return e, errors.New("evidence: no scenario to run, or no program to run it in")
	}
	if _, err := findVariant(w.Scenario, w.Variant); err != nil {
		return e, err
	}
	if err := ctx.Err(); err != nil {
		return e, err
	}
	dir, err := os.MkdirTemp(o.Dir, dirPrefix)
	if err != nil {
		return e, fmt.Errorf("evidence: %w", err)
	}
	defer os.RemoveAll(dir)
	c := &collector{w: w, o: o, dir: dir, each: o.each(), e: &e}
	err = useTools(ctx, &e, tools, o.Progress, c.use)
	return e, err
}

// useTools uses one tool after the other and books what became of each. It
// fails when ctx ends, and when there was not one that worked.
func useTools(ctx context.Context, e *Evidence, tools []string, progress func(string), use func(ctx context.Context, tool string) (note string, err error)) error {
	worked := false
	var first error
	for _, name := range tools {
		if progress != nil {
			progress(name)
		}
		t := Tool{Name: name, State: OK}
		note, err := use(ctx, name)
		switch {
		case ctx.Err() != nil:
			t.State, t.Note = Failed, "interrupted"
			e.Tools = append(e.Tools, t)
			return ctx.Err()
		case errors.Is(err, errMissing):
			t.State, t.Note = Missing, strings.TrimPrefix(err.Error(), errMissing.Error()+": ")
		case err != nil:
			t.State, t.Note = Failed, strings.TrimPrefix(err.Error(), "evidence: ")
		default:
			t.Note = note
			worked = true
		}
		if err != nil && first == nil {
			first = err
		}
		e.Tools = append(e.Tools, t)
	}
	if !worked {
		return fmt.Errorf("evidence: no tool could be used: %w", first)
	}
	return nil
}
