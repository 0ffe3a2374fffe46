package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// asProgram makes this test binary behave as the program, with synthetic
// scenarios.
const asProgram = "SLUICE_CLI_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	app := App{
		Scenarios: synthetic(),
		Children: map[string]func([]string) error{
			"echo": func(args []string) error {
				fmt.Println(strings.Join(args, " "))
				return nil
			},
			"fail": func([]string) error { return errors.New("two\nlines") },
			"spin": spin,
		},
		Stdout: os.Stdout, Stderr: os.Stderr,
	}
	os.Exit(app.Main(os.Args[1:]))
}

// work is a runner made of a function.
type work func(ops int) (lab.Sample, error)

func (w work) Run(ops int) (lab.Sample, error) { return w(ops) }
func (w work) Close() error                    { return nil }

var counted uint64

func count(slow int) work {
	return func(ops int) (lab.Sample, error) {
		for i := range ops * slow {
			counted = counted*31 + uint64(i)
		}
		return lab.Sample{Bytes: int64(ops), Check: uint64(ops)}, nil
	}
}

// ready is printed on standard error when a scenario waits to be interrupted.
const ready = "READY"

// synthetic are scenarios for every outcome.
func synthetic() []lab.Scenario {
	open := func(w work) func(lab.Env) (lab.Runner, error) {
		return func(lab.Env) (lab.Runner, error) { return w, nil }
	}
	make := func(name string, other work, targets ...lab.Target) lab.Scenario {
		return lab.Scenario{
			Name: name, Title: "counting", Op: "count", Metric: lab.NsPerOp, Baseline: "plain", Ops: 10000, Targets: targets,
			Variants: []lab.Variant{{Name: "plain", Open: open(count(1))}, {Name: "other", Open: open(other)}},
		}
	}
	calls := 0
	steady := make("interrupted/steady", func(ops int) (lab.Sample, error) {
		if calls++; calls == 3 {
			fmt.Fprintln(os.Stderr, ready)
		}
		time.Sleep(2 * time.Millisecond) // the work of this one
		return count(1)(ops)
	})
	steady.Fixed = true
	stuck := make("stuck", func(int) (lab.Sample, error) { // which no context ends
		fmt.Fprintln(os.Stderr, ready)
		time.Sleep(time.Hour)
		return lab.Sample{}, nil
	})
	stuck.Named = true
	sized := make("sized", nil)
	sized.Fixed, sized.Named, sized.Variants = true, true, sized.Variants[:1]
	sized.Variants[0].Open = func(env lab.Env) (lab.Runner, error) {
		size := 2.0
		switch {
		case env.Full:
			size = 3
		case env.Quick:
			size = 1
		}
		return work(func(int) (lab.Sample, error) {
			return lab.Sample{Figures: map[string]float64{"size": size}}, nil
		}), nil
	}
	return []lab.Scenario{
		sized,
		make("fast/one", count(4)),
		make("fast/two", count(2)),
		make("faster", count(1)),
		make("hard/impossible", count(4), lab.Target{Variant: "other", Against: "plain", AtMost: 0.01}),
		make("hard/easy", count(4), lab.Target{Variant: "other", Against: "plain", AtMost: 1000}),
		make("broken/error", func(int) (lab.Sample, error) { return lab.Sample{}, errors.New("the wire broke") }),
		make("broken/cheat", func(ops int) (lab.Sample, error) { return lab.Sample{Bytes: int64(ops), Check: 42}, nil }),
		steady, stuck,
		make("unreached", count(1)),
	}
}

// A program is a call of this binary as the program.
type program struct {
	*exec.Cmd
	dir    string // where it runs
	temp   string // its temporary directory
	stdout bytes.Buffer
	stderr bytes.Buffer
}

func newProgram(t *testing.T, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.CommandContext(t.Context(), self, args...), dir: t.TempDir(), temp: t.TempDir()}
	p.Dir = p.dir
	p.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+p.temp, "TMP="+p.temp, "TEMP="+p.temp)
	p.Cmd.Stdout, p.Cmd.Stderr = &p.stdout, &p.stderr
	return p
}

// code waits for the end of a call and returns the exit code.
func code(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err == nil {
		return 0
	}
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// run calls the program to its end.
func run(t *testing.T, args ...string) (p *program, exit int) {
	t.Helper()
	p = newProgram(t, args...)
	exit = code(t, p.Run())
	p.clean(t)
	return p, exit
}

// clean checks that nothing is left in the temporary directory.
func (p *program) clean(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(p.temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%v left %s behind", p.Args[1:], e.Name())
	}
}

// endsBySignal interrupts a program that has got an interrupt until it ends, and wants it to end by that.
func endsBySignal(t *testing.T, p *exec.Cmd) {
	t.Helper()
	ended, again := make(chan error, 1), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	go func() { ended <- p.Wait() }()
	for {
		select {
		case <-again.C:
			_ = p.Process.Signal(os.Interrupt) // it may have ended
			continue
		case err := <-ended:
			if by, ok := p.ProcessState.Sys().(syscall.WaitStatus); !ok || !by.Signaled() || by.Signal() != syscall.SIGINT {
				t.Errorf("it ended with %v", err)
			}
		}
		return
	}
}

// interrupt starts the program, sends it a signal when it says that it is
// ready, and waits for its end.
func interrupt(t *testing.T, signal os.Signal, args ...string) (p *program, exit int) {
	t.Helper()
	p = newProgram(t, args...)
	p.Cmd.Stderr = nil
	pipe, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		p.stderr.WriteString(lines.Text() + "\n")
		if lines.Text() == ready {
			if err := p.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if _, err := io.Copy(&p.stderr, pipe); err != nil {
		t.Fatal(err)
	}
	exit = code(t, p.Wait())
	p.clean(t)
	return p, exit
}
