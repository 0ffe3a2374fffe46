package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/report"
)

// benchResult is a file of bench with one scenario, in which the second variant takes
// factor times as long as the first.
func benchResult(t *testing.T, factor float64, change func(*report.File)) []byte {
	t.Helper()
	variant := func(name string, factor float64) measure.Variant {
		v := measure.Variant{Name: name, About: "counting"}
		for i := range 15 {
			ns := 100 * (1 + 0.01*float64(i*7%15))
			v.Calls = append(v.Calls, measure.Call{Figures: map[string]float64{"ns/op": ns * factor, "allocs/op": 0}})
		}
		return v
	}
	f := &report.File{
		Origin: machine.Origin{
			Kind: report.KindBench, Schema: report.Schema, Version: "devel", Command: []string{"lab", "bench"},
			Machine: machine.Machine{OS: "linux", Arch: "amd64", CPU: "Some CPU", Cores: 2, GOMAXPROCS: 2, GOGC: "100", Go: "go1.25.0"},
		},
		Mode: "normal", Seed: 1,
		Scenarios: []measure.Outcome{{
			Name: "counting/one", Title: "counting", Op: "count", Metric: "ns/op", Baseline: "plain", State: measure.Done, Ops: 1000, Rounds: 15,
			Variants: []measure.Variant{variant("plain", 1), variant("other", factor)},
		}},
	}
	if change != nil {
		change(f)
	}
	var b bytes.Buffer
	if err := f.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// inDir writes files into the directory that the program runs in.
func (p *program) inDir(t *testing.T, texts map[string][]byte) {
	t.Helper()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(p.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReportComparesAndExitsByWhatItFinds(t *testing.T) {
	old := benchResult(t, 0.5, nil)
	other := func(f *report.File) { f.Machine.CPU = "Another CPU" }
	for name, c := range map[string]struct {
		args       []string
		new        []byte
		exit       int
		says, errs string
		left       []string
	}{
		"the same":          {nil, old, ExitOK, "3 ~", "", nil},
		"slower":            {nil, benchResult(t, 0.8, nil), ExitMissed, "WORSE", "", nil},
		"faster":            {nil, benchResult(t, 0.3, nil), ExitOK, "better", "", nil},
		"slower by little":  {nil, benchResult(t, 0.55, nil), ExitOK, "~", "", nil},
		"by enough for me":  {[]string{"--at-least", "5"}, benchResult(t, 0.55, nil), ExitMissed, "WORSE", "", nil},
		"another machine":   {nil, benchResult(t, 0.8, other), ExitUnusable, "", "another machine: processor was Some CPU, is Another CPU", nil},
		"compared by force": {[]string{"--force"}, benchResult(t, 0.8, other), ExitMissed, "COMPARED ALL THE SAME", "", nil},
		"no result":         {nil, []byte("{}"), ExitFailure, "", "new.json", nil},
		"with a page":       {[]string{"-o", "page.html"}, benchResult(t, 0.8, nil), ExitMissed, "report: page.html", "", []string{"page.html"}},
		"as JSON":           {[]string{"--json", "c.json"}, old, ExitOK, "3 ~", "", []string{"c.json"}},
	} {
		p := newProgram(t, append(append([]string{"report", "--baseline", "old.json"}, c.args...), "new.json")...)
		p.inDir(t, map[string][]byte{"old.json": old, "new.json": c.new})
		exit := code(t, p.Run())
		p.clean(t)
		if exit != c.exit || !strings.Contains(p.stdout.String(), c.says) || !strings.Contains(p.stderr.String(), c.errs) {
			t.Errorf("%s: exit code %d, want %d\n%s\n%s", name, exit, c.exit, p.stdout.String(), p.stderr.String())
		}
		if c.errs == "" && p.stderr.Len() > 0 || strings.Count(p.stderr.String(), "\n") > 1 {
			t.Errorf("%s: standard error says %s", name, p.stderr.String())
		}
		want := append([]string{"new.json", "old.json"}, c.left...)
		slices.Sort(want)
		if got := files(t, p.dir); !slices.Equal(got, want) {
			t.Errorf("%s: files %v, want %v", name, got, want)
		}
	}
}

func TestReportMakesAPage(t *testing.T) {
	p := newProgram(t, "report", "a.json", "b.json")
	p.inDir(t, map[string][]byte{"a.json": benchResult(t, 0.5, nil), "b.json": benchResult(t, 0.6, nil)})
	exit := code(t, p.Run())
	if exit != 0 || p.stdout.String() != "report: "+defaultReport+"\n" || p.stderr.Len() > 0 {
		t.Errorf("exit code %d, %q, %q", exit, p.stdout.String(), p.stderr.String())
	}
	page, err := os.ReadFile(filepath.Join(p.dir, defaultReport))
	if err != nil || !bytes.Contains(page, []byte("bench: b.json")) || !bytes.HasSuffix(page, []byte("</html>\n")) {
		t.Errorf("%v, %d bytes", err, len(page))
	}
}

func TestReportReadsStandardInputAndPrintsBenchmarkText(t *testing.T) {
	p := newProgram(t, "report", "--benchstat", "-")
	p.Stdin = bytes.NewReader(benchResult(t, 0.5, nil))
	exit := code(t, p.Run())
	if exit != 0 || strings.Count(p.stdout.String(), "\nBenchmarkCounting/one/variant=") != 30 || len(files(t, p.dir)) != 0 {
		t.Errorf("exit code %d, %s, %s", exit, p.stdout.String(), p.stderr.String())
	}
}

func TestTheComparisonGoesToStandardOutputAlone(t *testing.T) {
	p := newProgram(t, "report", "--baseline", "old.json", "--json", "-", "new.json")
	p.inDir(t, map[string][]byte{"old.json": benchResult(t, 0.5, nil), "new.json": benchResult(t, 0.8, nil)})
	exit := code(t, p.Run())
	var c report.Comparison
	if err := json.Unmarshal(p.stdout.Bytes(), &c); err != nil || exit != ExitMissed || c.Regressions != 1 || !strings.Contains(p.stderr.String(), "WORSE") {
		t.Errorf("exit code %d, %v, %s", exit, err, p.stderr.String())
	}
}

func TestReportWritesThePageOfRecordedResults(t *testing.T) {
	p := newProgram(t, "report", "--results", ".")
	if exit := code(t, p.Run()); exit != ExitFailure || !strings.Contains(p.stderr.String(), "no results in data") {
		t.Errorf("exit code %d, %s", exit, p.stderr.String())
	}
	p = newProgram(t, "report", "--results", ".")
	if err := os.Mkdir(filepath.Join(p.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.inDir(t, map[string][]byte{"data/a.json": benchResult(t, 0.5, nil)})
	if exit := code(t, p.Run()); exit != 0 || p.stdout.String() != "recorded.md: 1 result\n" {
		t.Errorf("exit code %d, %s%s", exit, p.stdout.String(), p.stderr.String())
	}
	page, err := os.ReadFile(filepath.Join(p.dir, "recorded.md"))
	if err != nil || !strings.Contains(string(page), "| counting/one | other | plain |  | 0.50 (0.50–0.50) |") {
		t.Errorf("%v: %s", err, page)
	}
}

func TestReportSaysWhichFileItCannotRead(t *testing.T) {
	p, exit := run(t, "report", "nosuch.json")
	if exit != ExitFailure || !strings.Contains(p.stderr.String(), "nosuch.json") || strings.Count(p.stderr.String(), "\n") != 1 || len(files(t, p.dir)) != 0 {
		t.Errorf("exit code %d, %q", exit, p.stderr.String())
	}
}

func TestTheHelpOfReportSaysWhatMatters(t *testing.T) {
	p, exit := run(t, "report", "--help")
	text := p.stdout.String()
	flat := strings.Join(strings.Fields(text), " ")
	_, examples, _ := strings.Cut(text, "Examples:\n")
	examples, _, _ = strings.Cut(examples, "\n\n")
	if exit != 0 || strings.Count(strings.TrimSpace(examples), "\n") != 0 || !strings.HasPrefix(strings.TrimSpace(examples), "lab report") {
		t.Errorf("exit code %d, examples %q", exit, examples)
	}
	for _, want := range []string{"Exit codes: 0", "--output", "--benchstat", "--baseline", "--at-least", "--force", "--json", "default 30 for bench, 45 for load"} {
		if !strings.Contains(flat, want) {
			t.Errorf("the help does not mention %s", want)
		}
	}
}
