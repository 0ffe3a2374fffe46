package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/report"
)

// files lists a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func loadFile(t *testing.T, p *program, name string) *report.File {
	t.Helper()
	r, err := report.Open(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return r.Bench
}

// What a scenario is called holds but with --quick, which says so.
func TestOnlyQuickBenchesHaveLess(t *testing.T) {
	for _, c := range []struct {
		flag, title string
		size        float64
	}{{"--quick", "counting; with --quick fewer and shorter", 1}, {"--all", "counting", 2}, {"--full", "counting", 3}} {
		p, exit := run(t, "bench", c.flag, "--rounds", "1", "--json", "r.json", "sized")
		if exit != 0 {
			t.Fatalf("exit code %d: %s", exit, p.stderr.String())
		}
		o := loadFile(t, p, "r.json").Scenarios[0]
		if size := o.Variants[0].Values("size"); o.Title != c.title || !slices.Equal(size, []float64{c.size}) {
			t.Errorf("%s: %q of size %v", c.flag, o.Title, size)
		}
	}
}

func TestBenchPrintsAndWritesAllForms(t *testing.T) {
	p, exit := run(t, "bench", "--rounds", "7", "--time", "1s", "--seed", "9", "--json", "r.json", "fast", "faster")
	stdout := p.stdout.String()
	if exit != 0 {
		t.Fatalf("exit code %d: %s", exit, p.stderr.String())
	}
	for _, want := range []string{"fast/one ", "fast/two", "faster", "verdict", "against", "seed 9"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if !strings.HasSuffix(stdout, "\nreport: sluice-bench.html\n") {
		t.Errorf("the last line does not say where the report is: %q", stdout[max(0, len(stdout)-100):])
	}
	if strings.Contains(stdout+p.stderr.String(), "\x1b") || strings.Contains(p.stderr.String(), "\r") {
		t.Error("control characters in a pipe")
	}
	if n := strings.Count(p.stderr.String(), "\n"); n != 3 || !strings.Contains(p.stderr.String(), "2/3 fast/two: done, rounds 7") {
		t.Errorf("progress is not a line for each scenario:\n%s", p.stderr.String())
	}
	want := []string{"r.json", "sluice-bench.html"}
	if got := files(t, p.dir); !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	for _, name := range want {
		if info, err := os.Stat(filepath.Join(p.dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is empty: %v", name, err)
		}
	}
	f := loadFile(t, p, "r.json")
	if f.Seed != 9 || f.Mode != "normal" || f.Interrupted || f.Machine.Cores < 1 || strings.Join(f.Command[:2], " ") != "lab bench" {
		t.Errorf("%+v", f)
	}
	if len(f.Scenarios) != 3 || f.Scenarios[0].Rounds != 7 || f.Scenarios[0].State != measure.Done {
		t.Errorf("%d scenarios, %+v", len(f.Scenarios), f.Scenarios)
	}
}

func TestListRunsNothing(t *testing.T) {
	p, exit := run(t, "bench", "--list", "fast")
	if exit != 0 || p.stdout.String() != "fast/one  counting\nfast/two  counting\n" || p.stderr.Len() > 0 {
		t.Errorf("exit code %d, %q, %q", exit, p.stdout.String(), p.stderr.String())
	}
	if got := files(t, p.dir); len(got) != 0 {
		t.Errorf("files %v", got)
	}
}

func TestStandardOutputHoldsOnlyWhatWasAskedForThere(t *testing.T) {
	p, exit := run(t, "bench", "--rounds", "3", "--html=", "--json", "-", "faster")
	r, err := report.Read(&p.stdout, "x")
	if exit != 0 || err != nil || len(r.Bench.Scenarios) != 1 {
		t.Errorf("exit code %d, %v", exit, err)
	}
	if !strings.Contains(p.stderr.String(), "against") {
		t.Errorf("no table on standard error: %s", p.stderr.String())
	}
	if got := files(t, p.dir); len(got) != 0 {
		t.Errorf("files %v", got)
	}
}

// The first waits for the end of what a scenario does.
func TestASecondInterruptEndsAScenarioThatIsStuck(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no interrupts on this system")
	}
	p := newProgram(t, "bench", "--html=", "stuck")
	p.Cmd.Stderr = nil
	said, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(said); lines.Scan() && lines.Text() != ready; {
	}
	endsBySignal(t, p.Cmd)
}

func TestAReportThatNobodyAskedForIsNoReasonToFail(t *testing.T) {
	p := newProgram(t, "bench", "--rounds", "1", "faster")
	if err := os.Mkdir(filepath.Join(p.dir, defaultPage), 0o700); err != nil {
		t.Fatal(err)
	}
	if exit := code(t, p.Run()); exit != 0 || !strings.Contains(p.stderr.String(), "no report here") {
		t.Errorf("exit code %d, %s", exit, p.stderr.String())
	}
}

func TestExistingFilesAreReplacedOnlyAtTheEnd(t *testing.T) {
	p := newProgram(t, "bench", "--rounds", "1", "--json", "old.json", "nosuch")
	old := filepath.Join(p.dir, "old.json")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit := code(t, p.Run()); exit != ExitUsage {
		t.Errorf("exit code %d", exit)
	}
	if text, _ := os.ReadFile(old); string(text) != "old" {
		t.Errorf("the old file now holds %q", text)
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args string
		want int
		says string // in the table
	}{
		{"--rounds 2 faster", ExitOK, ""},
		{"--rounds 2 broken/error faster", ExitFailure, "FAILED  other: the wire broke"},
		{"--rounds 2 broken/cheat faster", ExitUnusable, "INVALID  not the same work"},
		{"--rounds 2 broken", ExitFailure, "INVALID  broken/cheat: not the same work"},
		{"--rounds 7 hard/impossible", ExitOK, "MISSED: "},
		{"--full --time 1s --rounds 15 hard", ExitOK, "MISSED: "},
		{"--full --time 1s --rounds 15 --check hard/impossible", ExitMissed, "MISSED: "},
		{"--full --time 1s --rounds 15 --check hard/easy", ExitOK, "met  "},
	} {
		p, exit := run(t, append([]string{"bench", "--all", "--html="}, strings.Fields(c.args)...)...)
		if exit != c.want || !strings.Contains(p.stdout.String(), c.says) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", c.args, exit, c.want, c.says, p.stdout.String(), p.stderr.String())
		}
	}
}

func TestInvalidSaysBothSums(t *testing.T) {
	p, _ := run(t, "bench", "--html=", "--rounds", "1", "--json", "r.json", "broken/cheat")
	f := loadFile(t, p, "r.json")
	o := f.Scenarios[0]
	if o.State != measure.Invalid || !strings.Contains(o.Reason, "other consumed") || !strings.Contains(o.Reason, "sum 0x2a, plain") || len(o.Variants[0].Calls) != 0 {
		t.Errorf("%s: %s", o.State, o.Reason)
	}
}

func TestAnInterruptReportsWhatWasMeasured(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent an interrupt here")
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		for _, kind := range []string{"steady"} {
			p, exit := interrupt(t, signal, "bench", "--all", "--rounds", "1000", "--json", "r.json", "interrupted/"+kind, "unreached")
			if exit != ExitUnusable {
				t.Errorf("%s, %v: exit code %d", kind, signal, exit)
			}
			stdout := p.stdout.String()
			for _, want := range []string{"plain *", "interrupted, only whole rounds are kept", "report: sluice-bench.html"} {
				if !strings.Contains(stdout, want) {
					t.Errorf("%s, %v: no %q in\n%s", kind, signal, want, stdout)
				}
			}
			if strings.Contains(stdout, "unreached") {
				t.Errorf("%s, %v: what was not reached is printed", kind, signal)
			}
			f := loadFile(t, p, "r.json")
			o := f.Scenarios[0]
			if !f.Interrupted || o.State != measure.Partial || o.Rounds < 2 || o.Rounds >= 1000 {
				t.Errorf("%s, %v: %s with %d rounds", kind, signal, o.State, o.Rounds)
			}
			if f.Scenarios[1].State != measure.Skipped {
				t.Errorf("%s, %v: the next scenario is %s", kind, signal, f.Scenarios[1].State)
			}
		}
	}
}

// Targets that end connections cause the same signal.
func TestABrokenPipeOtherThanTheOutputDoesNotEndTheRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such signal here")
	}
	p, exit := interrupt(t, syscall.SIGPIPE, "bench", "--html=", "--rounds", "8", "interrupted/steady")
	if exit != ExitOK {
		t.Errorf("exit code %d, %s%s", exit, p.stdout.String(), p.stderr.String())
	}
}

func TestAClosedPipeEndsTheRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such signal here")
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := newProgram(t, "bench", "--html=", "--rounds", "1000", "interrupted/steady")
	p.Cmd.Stdout = writer
	reader.Close()
	exit := code(t, p.Run())
	writer.Close()
	if exit != ExitUnusable {
		t.Errorf("exit code %d, %s", exit, p.stderr.String())
	}
	p.clean(t)
}
