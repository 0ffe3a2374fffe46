package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// TestMain makes the test binary answer the child command, as the program
// does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		scenario := tiny()
		if err := Children([]lab.Scenario{*scenario})[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == "collect" {
		collectFor(os.Args[2])
	}
	os.Exit(m.Run())
}

// collectFor collects in this process until the process is killed.
func collectFor(dir string) {
	path, err := os.Executable()
	if err == nil {
		_, err = Collect(context.Background(), Workload{Name: "tiny", Scenario: tiny(), Variant: "locks"},
			Options{Self: path, Each: time.Minute, Dir: dir, Tools: []string{ToolCPU}})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// self is the path of this binary.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tiny is a scenario whose variants do what some tool should see.
func tiny() *lab.Scenario {
	return &lab.Scenario{
		Name: "tiny/work", Ops: 80,
		Variants: []lab.Variant{
			{Name: "writes", Open: openWrites},
			{Name: "allocates", Open: func(lab.Env) (lab.Runner, error) { return allocator{}, nil }},
			{Name: "locks", Open: func(lab.Env) (lab.Runner, error) { return new(lockers), nil }},
			{Name: "cannot open", Open: func(lab.Env) (lab.Runner, error) { return nil, errors.New("no fixture today") }},
			{Name: "cannot run", Open: func(lab.Env) (lab.Runner, error) { return broken{}, nil }},
		},
	}
}

// writes writes 64 bytes to a file each time.
type writes struct {
	file *os.File
	text []byte
}

func openWrites(env lab.Env) (lab.Runner, error) {
	f, err := os.Create(filepath.Join(env.Dir, "written"))
	return &writes{f, make([]byte, 64)}, err
}

func (w *writes) Run(ops int) (lab.Sample, error) {
	for range ops {
		if _, err := w.file.WriteAt(w.text, 0); err != nil {
			return lab.Sample{}, err
		}
	}
	return lab.Sample{Bytes: int64(ops) * 64}, nil
}

func (w *writes) Close() error { return w.file.Close() }

// allocator allocates a slice each time.
type allocator struct{}

var kept []byte

func (allocator) Run(ops int) (lab.Sample, error) {
	for range ops {
		kept = make([]byte, 1000)
	}
	return lab.Sample{Bytes: int64(ops) * 1000}, nil
}

func (allocator) Close() error { return nil }

// lockers are goroutines that sleep while they have the lock.
type lockers struct{ mu sync.Mutex }

func (l *lockers) Run(ops int) (lab.Sample, error) {
	const goroutines = 4
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range ops / goroutines {
				l.locked()
			}
		})
	}
	all.Wait()
	return lab.Sample{}, nil
}

func (l *lockers) locked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	time.Sleep(100 * time.Microsecond)
}

func (l *lockers) Close() error { return nil }

type broken struct{}

func (broken) Run(int) (lab.Sample, error) { return lab.Sample{}, errors.New("the disk is on fire") }

func (broken) Close() error { return nil }
