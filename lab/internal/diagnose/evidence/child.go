package evidence

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

// childName is the hidden command that runs a workload.
const childName = "diagnose-workload"

// childLife is how long a child may live in any case, should its parent be
// stopped in a way that leaves the pipe open.
const childLife = 10 * time.Minute

// Children returns the hidden child command that Collect starts, over the
// scenarios that it may be asked to run. The program runs it as "Self child
// diagnose-workload SCENARIO VARIANT SEED SECONDS MODE DIR PROCS"; it ends when
// its standard input does.
func Children(scenarios []lab.Scenario) map[string]func(args []string) error {
	return map[string]func(args []string) error{
		childName: func(args []string) error { return runChild(scenarios, args) },
	}
}

// A job is what the arguments of the child ask for.
type job struct {
	variant lab.Variant
	ops     int // of a round
	fixed   bool
	seed    uint64
	time    time.Duration
	mode    mode
	dir     string
	procs   int
}

func parseJob(scenarios []lab.Scenario, args []string) (job, error) {
	names := []string{"SCENARIO", "VARIANT", "SEED", "SECONDS", "MODE", "DIR", "PROCS"}
	if len(args) != len(names) {
		return job{}, fmt.Errorf("evidence: child %s wants %s, got %q", childName, strings.Join(names, " "), args)
	}
	var j job
	scenario, err := findScenario(scenarios, args[0])
	if err != nil {
		return job{}, err
	}
	if j.variant, err = findVariant(scenario, args[1]); err != nil {
		return job{}, err
	}
	j.ops, j.fixed = max(scenario.Ops, 1), scenario.Fixed
	if j.seed, err = strconv.ParseUint(args[2], 10, 64); err != nil {
		return job{}, fmt.Errorf("evidence: seed %q", args[2])
	}
	seconds, err := strconv.ParseFloat(args[3], 64)
	if err != nil || !(seconds > 0 && seconds <= childLife.Seconds()/2) {
		return job{}, fmt.Errorf("evidence: %q seconds: more than 0 and at most %.0f can be had", args[3], childLife.Seconds()/2)
	}
	j.time = time.Duration(seconds * float64(time.Second))
	j.mode = mode(args[4])
	if _, ok := modes[j.mode]; !ok {
		return job{}, fmt.Errorf("evidence: there is no mode %q", args[4])
	}
	j.dir = args[5]
	if info, err := os.Stat(j.dir); err != nil || !info.IsDir() {
		return job{}, fmt.Errorf("evidence: %q is no directory", args[5])
	}
	if j.procs, err = strconv.Atoi(args[6]); err != nil || j.procs < 1 || j.procs > 1<<16 {
		return job{}, fmt.Errorf("evidence: GOMAXPROCS %q", args[6])
	}
	return j, nil
}

func findScenario(scenarios []lab.Scenario, name string) (*lab.Scenario, error) {
	for i := range scenarios {
		if scenarios[i].Name == name {
			return &scenarios[i], nil
		}
	}
	return nil, fmt.Errorf("evidence: there is no scenario %q", name)
}

func findVariant(s *lab.Scenario, name string) (lab.Variant, error) {
	for _, v := range s.Variants {
		if v.Name == name {
			return v, nil
		}
	}
	return lab.Variant{}, fmt.Errorf("evidence: scenario %s has no variant %q", s.Name, name)
}

// An outcome is what a child writes about its measured part.
type outcome struct {
	Ops    int64         `json:"ops"`
	Bytes  int64         `json:"bytes"`
	Wall   time.Duration `json:"wall_ns"`
	CPU    time.Duration `json:"cpu_ns"`
	Reads  int64         `json:"read_calls,omitempty"`
	Writes int64         `json:"write_calls,omitempty"`
	Queued time.Duration `json:"queued_ns,omitempty"`
	Cut    bool          `json:"cut,omitempty"`   // the trace, because it grew too large
	Procs  []int         `json:"procs,omitempty"` // of each round in mode scaling
	PerSec []float64     `json:"per_second,omitempty"`
	PerOp  []float64     `json:"cpu_per_op,omitempty"` // nanoseconds
	Before bool          `json:"before,omitempty"`     // it was given processors before others
}

// Files in the child's directory.
const (
	outcomeFile = "outcome.json"
	cpuFile     = "cpu.pprof"
	beforeFile  = "allocs-before.pprof"
	allocsFile  = "allocs.pprof"
	mutexFile   = "mutex.pprof"
	blockFile   = "block.pprof"
	traceFile   = "trace.out"
)

func runChild(scenarios []lab.Scenario, args []string) error {
	j, err := parseJob(scenarios, args)
	if err != nil {
		return err
	}
	child.Expire(childLife)
	// A parent that is gone is noticed by its pipe, and tidied up after.
	signal.Ignore(syscall.SIGTERM)
	runtime.GOMAXPROCS(j.procs)
	if j.mode == modeAllocs {
		// Before the first allocation of the workload, and only once: the figures of
		// a profile are scaled by the rate that holds when it is written.
		runtime.MemProfileRate = allocEvery
	}
	permitTracing()

	work := filepath.Join(j.dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	l := &loop{parent: newParent(os.Stdin, os.Stdout, j.dir), ops: j.ops}
	l.runner, err = j.variant.Open(lab.Env{Seed: j.seed, Dir: work, Self: self, Quick: true})
	if err != nil {
		return fmt.Errorf("evidence: opening the workload: %w", err)
	}
	defer l.runner.Close()
	if err := l.warmUp(j); err != nil {
		return err
	}
	l.parent.say("ready")
	out, err := modes[j.mode](l, j)
	if err != nil {
		return err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(j.dir, outcomeFile), text, 0o600)
}

// A loop runs the rounds of a runner.
type loop struct {
	runner lab.Runner
	parent *parent
	ops    int // of a round
}

// shorter is by how much rounds are made shorter when the parent looks at single
// calls, which slows the workload down twentyfold and more: how far it is is only known
// between rounds.
const shorter = 20

// warmUp runs at least two rounds, so that pools are filled and what is set up at
// first use is there.
func (l *loop) warmUp(j job) error {
	long := min(j.time/4, 500*time.Millisecond)
	began := time.Now()
	for n := 1; ; n++ {
		if err := l.round(); err != nil {
			return err
		}
		if n >= 2 && time.Since(began) >= long {
			if j.mode == modeCalls && !j.fixed {
				l.ops = max(1, l.ops/shorter)
			}
			l.parent.ops.Store(0)
			l.parent.bytes.Store(0)
			runtime.GC()
			return nil
		}
	}
}

func (l *loop) round() error {
	sample, err := l.runner.Run(l.ops)
	if err != nil {
		return fmt.Errorf("evidence: running the workload: %w", err)
	}
	l.parent.ops.Add(int64(l.ops))
	l.parent.bytes.Add(sample.Bytes)
	return nil
}

// during runs rounds for a time, at least one, unless the parent stops it. A
// tool that looks at this process from within begins and ends around them.
func (l *loop) during(d time.Duration, begin func() error, end func()) (outcome, error) {
	ops, bytes := l.parent.ops.Load(), l.parent.bytes.Load()
	before, beforeErr := proc.Read(0)
	if err := begin(); err != nil {
		return outcome{}, err
	}
	began := time.Now()
	var err error
	for {
		if err = l.round(); err != nil || time.Since(began) >= d || l.parent.stopped.Load() {
			break
		}
	}
	out := outcome{Wall: time.Since(began)}
	end()
	if err != nil {
		return outcome{}, err
	}
	if after, err := proc.Read(0); err == nil && beforeErr == nil {
		spent := before.To(after)
		out.CPU = spent.CPU
		if spent.Queued != nil {
			out.Queued = *spent.Queued
		}
		if spent.ReadCalls != nil && spent.WriteCalls != nil {
			out.Reads, out.Writes = int64(*spent.ReadCalls), int64(*spent.WriteCalls)
		}
	}
	out.Ops, out.Bytes = l.parent.ops.Load()-ops, l.parent.bytes.Load()-bytes
	return out, nil
}

// alone is for during when no tool looks from within.
func (l *loop) alone(d time.Duration) (outcome, error) {
	return l.during(d, func() error { return nil }, func() {})
}

// parent is the process at the other end of our standard input and output.
// It may stop the rounds ("stop") and ask how far they are ("mark"); when it
// is gone, so are we.
type parent struct {
	stopped    atomic.Bool
	ops, bytes atomic.Int64
	mu         sync.Mutex
	out        *os.File
	dir        string // where we write
	pid        int
}

func newParent(in, out *os.File, dir string) *parent {
	p := &parent{out: out, dir: dir, pid: os.Getppid()}
	go p.listen(in)
	return p
}

func (p *parent) listen(in *os.File) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		switch lines.Text() {
		case "stop":
			p.stopped.Store(true)
		case "mark":
			p.say(strconv.FormatInt(p.ops.Load(), 10))
		}
	}
	p.cleanUp()
	os.Exit(0)
}

// cleanUp removes the directory of the whole collection when the parent was
// killed and could not. That is known from who our parent is now, which becomes
// true a moment after its pipes are closed.
func (p *parent) cleanUp() {
	whole := filepath.Dir(p.dir)
	if !strings.HasPrefix(filepath.Base(whole), dirPrefix) {
		return
	}
	for range 20 {
		if os.Getppid() != p.pid {
			_ = os.RemoveAll(whole) // no caller is left for the error
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *parent) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, line)
}
