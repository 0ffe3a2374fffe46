package realtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// TestMain lets this test be the programs that it looks at: "child KIND NAME ...".
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "child" {
		run := map[string]func([]string) error{faultyChild: runFaulty, healthyChild: runHealthy}[os.Args[2]]
		if err := run(os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Some faults need two processors: the programs have them all, however many the tests have.
	_ = os.Unsetenv("GOMAXPROCS")
	code := m.Run()
	for _, dir := range builtIn {
		_ = os.RemoveAll(dir) // it is in the system's temporary directory
	}
	os.Exit(code)
}

const faultyChild, healthyChild = "faulty", "healthy"

// gather looks at a program as a user would.
func gather(t *testing.T, target evidence.Target, each time.Duration) *diagnose.Diagnosis {
	t.Helper()
	e, err := evidence.Gather(t.Context(), target, evidence.Options{Each: each, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := &diagnose.Diagnosis{Evidence: e}
	d.Findings, d.Open = diagnose.Diagnose(&d.Evidence)
	return d
}

// said is what a diagnosis comes to, for a test that fails.
func said(d *diagnose.Diagnosis) string {
	var b strings.Builder
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "%.2f %s %s %s: %s\n", f.Score, f.Rule, f.Tool, f.Top, f.Clue)
	}
	for _, o := range d.Open {
		fmt.Fprintf(&b, "open %s: %s\n", o.Rule, o.Why)
	}
	for _, t := range d.Evidence.Tools {
		fmt.Fprintf(&b, "%s %s %s\n", t.Name, t.State, t.Note)
	}
	fmt.Fprintln(&b, d.Evidence.Took, d.Evidence.CPUTime, d.Evidence.Queued)
	return b.String()
}

// look is how long each tool looks in these tests.
const look = 600 * time.Millisecond

const (
	mostLooks   = 4 // in each of which a program had the processors, and for twice as long as in the one before
	mostCrowded = 3 // in which others had them: the program keeps these from the others for as long
)

// crowded reports whether a program was ready and had no processor for so long that two of its threads hardly ran
// at the same time: what it was seen to do then, and above all not to do, says little.
func crowded(e *evidence.Evidence) bool { return e.Queued > e.CPUTime/2 }

// namedFirst looks at a program until the rule is the first. In between the rule may be open, or its place not known
// to the end; another that is named first is an error at once. Looks while others had the processors do not count,
// unless they find it: there may be some of them, and when there are no others nothing follows. The first look is
// half as long, which is enough for most, and counts only if it finds the rule: a program with a fault keeps the
// processors busy for as long as it is looked at.
func namedFirst(t *testing.T, target evidence.Target, rule, place string) {
	t.Helper()
	named := func(d *diagnose.Diagnosis) bool {
		f, found := diagnose.First(d.Findings)
		return found && f.Rule == rule && strings.Contains(f.Top, place) && f.Try != ""
	}
	d := gather(t, target, look/2)
	if named(d) {
		return
	}
	for looks, without := 0, 0; looks < mostLooks; {
		if d = gather(t, target, look<<looks); named(d) {
			return
		}
		f, found := diagnose.First(d.Findings)
		if !crowded(&d.Evidence) {
			if looks++; found && f.Rule != rule {
				break
			}
		} else if without++; without == mostCrowded {
			t.Skipf("others had the processors, %d times: %s was not to be seen:\n%s", without, rule, said(d))
		}
	}
	t.Errorf("%s in %s is not named first:\n%s", rule, place, said(d))
}

// built is this test as a program of its own, built as programs are: go test strips its own.
var (
	built   = sync.OnceValues(func() (string, error) { return build("") })
	builtIn []string // directories
)

func build(flags string) (string, error) {
	dir, err := os.MkdirTemp("", "diagnose-test-")
	if err != nil {
		return "", err
	}
	builtIn = append(builtIn, dir)
	path := filepath.Join(dir, "program")
	text, err := exec.Command("go", "test", "-c", "-ldflags="+flags, "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return path, nil
}

func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// programTarget is a faulty program, with its net/http/pprof or without.
func programTarget(t *testing.T, name, variant string, pprof bool) evidence.Target {
	t.Helper()
	target := evidence.Target{Name: name, Command: []string{program(t), "child", faultyChild, name, variant}}
	if pprof {
		socket := filepath.Join(t.TempDir(), "s")
		target.Command = append(target.Command, socket)
		target.URL = "unix:" + socket
	}
	return target
}

func TestFaultsAreNamedFirst(t *testing.T) {
	for i, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			namedFirst(t, programTarget(t, c.name, "fault", i%2 == 0), c.rule, c.place)
		})
	}
}

// onlyLong leaves a test out of make test.
func onlyLong(t *testing.T) {
	t.Helper()
	if os.Getenv("SLUICE_LONG") == "" {
		t.Skip("SLUICE_LONG is not set: make long")
	}
}

func TestMendedProgramsAreNotAccused(t *testing.T) {
	onlyLong(t)
	for i, c := range faults {
		t.Run(c.name, func(t *testing.T) { notAccused(t, programTarget(t, c.name, "mended", i%2 == 1)) })
	}
}

func notAccused(t *testing.T, target evidence.Target) *diagnose.Diagnosis {
	t.Helper()
	d := gather(t, target, look)
	if f, found := diagnose.First(d.Findings); found {
		t.Errorf("%s is accused of %s:\n%s", target.Name, f.Rule, said(d))
	}
	return d
}

// TestAStrippedProgram has no goroutines that could be seen from outside: its net/http/pprof has them, and
// without that the rules that need them are open.
func TestAStrippedProgram(t *testing.T) {
	path, err := build("-s -w")
	if err != nil {
		t.Fatal(err)
	}
	target := programTarget(t, "lock-over-io", "fault", true)
	target.Command[0] = path
	namedFirst(t, target, "lock-over-io", "putLocked")

	// The names of its functions are in a table that stays, and perf's addresses are looked up there.
	packets := programTarget(t, "slice-per-packet", "fault", false)
	packets.Command[0] = path
	namedFirst(t, packets, "allocations", "readPacket, work_test.go:")

	target.URL = ""
	d := gather(t, target, look)
	if !slices.ContainsFunc(d.Open, func(o diagnose.Open) bool { return o.Rule == "lock-over-io" && strings.Contains(o.Why, "stripped") }) || d.Verdict() == diagnose.Clean {
		t.Errorf("%s: nothing is said of what could not be seen:\n%s", d.Verdict(), said(d))
	}
}

// foreign are programs in C, by their files in testdata. Those that another one, of the faults or of these,
// does nearly the same as are only among what takes long.
var foreign = []struct {
	name, rule, place string
	long              bool
}{
	{"bytes", "small-writes", "put", true},
	{"convoy", "lock-over-io", "store", true},
	{"contended", "lock-contention", "update", true},
	{"registry", "lock-contention", "enter", true},
	{"neighbours", "shared-line", "count", false},
	{"poller", "empty-polls", "look", false},
	{"nodes", "allocations", "push", true},
	{"journal", "fsync", "append", true},
	{"request", "delayed-ack", "", false}, // it waits, so that no place is known
}

// compiled compiles a program in C.
func compiled(t *testing.T, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	if text, err := exec.CommandContext(t.Context(), "cc", "-O1", "-fno-inline", "-pthread", "-o", out, filepath.Join("testdata", name+".c")).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v: %s", err, text)
	}
	return out
}

func TestFaultsOfProgramsInCAreNamedFirst(t *testing.T) {
	for _, c := range foreign {
		t.Run(c.name, func(t *testing.T) {
			if c.long {
				onlyLong(t)
			}
			namedFirst(t, evidence.Target{Name: c.name, Command: []string{compiled(t, c.name)}}, c.rule, c.place)
		})
	}
}

// TestRulesKnowNothingOfThePrograms searches the rules for the names that the programs with a fault
// declare.
func TestRulesKnowNothingOfThePrograms(t *testing.T) {
	files, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range faults {
			if strings.Contains(string(text), c.place) {
				t.Errorf("%s knows %s", file.Name(), c.place)
			}
		}
	}
}
