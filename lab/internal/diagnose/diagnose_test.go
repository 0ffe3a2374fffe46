package diagnose

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/planted"
)

// sane checks what holds for any findings.
func sane(t *testing.T, findings []Finding) {
	t.Helper()
	known := Rules()
	last, plain := math.Inf(1), false
	for _, f := range findings {
		if f.Rule == "" {
			plain = true
			if f.Score != 0 {
				t.Errorf("a line without a rule has a score: %+v", f)
			}
		} else if plain {
			t.Errorf("a rule stands below the lines without one: %+v", f)
		} else if !slices.Contains(known, f.Rule) {
			t.Errorf("nobody knows the rule of %+v", f)
		} else if f.Try == "" || f.Score < faint || f.Score > last {
			t.Errorf("%+v behind a score of %v", f, last)
		} else {
			last = f.Score
		}
		if !(f.Share >= 0 && f.Share <= 1) || !(f.Score >= 0 && f.Score <= 1) || f.Tool == "" || f.Top == "" || f.Clue == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestFindingsAreInOrderAndWhole(t *testing.T) {
	for _, c := range faults {
		for _, v := range []string{planted.Fault, planted.Mended} {
			findings := Diagnose(recorded(t, c.name, v))
			sane(t, findings)
			tools := map[string]bool{}
			for _, f := range findings {
				if f.Rule == "" {
					tools[f.Tool] = true
				}
			}
			for _, tool := range []string{evidence.ToolCPU, evidence.ToolAllocs, evidence.ToolTrace, evidence.ToolStrace, evidence.ToolScaling} {
				if !tools[tool] {
					t.Errorf("%s %s: no line says what %s saw", c.name, v, tool)
				}
			}
		}
	}
}

func TestNothingSeenIsNothingFound(t *testing.T) {
	none := &evidence.Profile{Unit: "ns"}
	for name, e := range map[string]*evidence.Evidence{
		"nothing":        {},
		"empty profiles": {Took: time.Second, CPU: none, Space: none, Allocs: none, Mutex: none, Block: none},
		"empty tools":    {Took: time.Second, Trace: &evidence.Trace{}, Calls: &evidence.Calls{}, Perf: &evidence.Perf{}, Scaling: &evidence.Scaling{}},
		"no frames":      {CPU: &evidence.Profile{Unit: "ns", Total: 5, Stacks: []evidence.Stack{{Value: 5}}}},
		"no rates":       {Scaling: &evidence.Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{0, math.NaN()}}},
		"lengths differ": {Scaling: &evidence.Scaling{Procs: []int{1, 2}, OpsPerSec: []float64{1}, CPUPerOp: []float64{1, 2, 3}}},
	} {
		findings := Diagnose(e)
		sane(t, findings)
		if f, ok := First(findings); ok {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// FuzzDiagnose gives the rules evidence that contradicts itself.
func FuzzDiagnose(f *testing.F) {
	for _, c := range faults {
		e := recorded(f, c.name, planted.Fault)
		e.Space, e.Mutex, e.Block = nil, nil, nil
		e.CPU.Stacks = e.CPU.Stacks[:min(2, len(e.CPU.Stacks))] // long seeds are slow to change
		e.Trace.Blocked = e.Trace.Blocked[:min(2, len(e.Trace.Blocked))]
		e.Trace.InSyscall = nil
		text, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"took_ns":1,"bytes":1,"write_calls":1,"cpu":{"total":1,"stacks":[{"value":9223372036854775807,"frames":[{"func":"syscall.write"}]}]}}`))
	f.Add([]byte(`{"trace":{"took_ns":1,"blocked":[{"reason":"sync","time_ns":-5,"while_io_ns":9,"frames":[{"func":"sync.(*Mutex).Lock"},{"func":"main.f"}]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e evidence.Evidence
		if json.Unmarshal(text, &e) != nil {
			return
		}
		d := &Diagnosis{Findings: Diagnose(&e), Evidence: e}
		for _, f := range d.Findings {
			if !(f.Share >= 0 && f.Share <= 1) || !(f.Score >= 0 && f.Score <= 1) {
				t.Errorf("%+v", f)
			}
		}
	})
}

// TestRulesKnowNothingOfThePlanted searches the rules for every name that the
// workloads of package planted declare, and for the name of the package.
func TestRulesKnowNothingOfThePlanted(t *testing.T) {
	forbidden := map[string]bool{"planted": true}
	for _, file := range parsed(t, "../planted") {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && len(fn.Name.Name) > 4 {
				forbidden[fn.Name.Name] = true
			}
			if gen, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range gen.Specs {
					if typ, ok := spec.(*ast.TypeSpec); ok {
						forbidden[typ.Name.Name] = true
					}
				}
			}
		}
	}
	// Words that everybody uses.
	for _, word := range []string{"Close", "flush", "append", "write", "packet", "event", "answer", "way", "begin"} {
		delete(forbidden, word)
	}
	if len(forbidden) < 20 {
		t.Fatalf("only %d names", len(forbidden))
	}
	for _, file := range parsed(t, ".") {
		for _, spec := range file.Imports {
			if strings.Contains(spec.Path.Value, "planted") {
				t.Errorf("%s is imported", spec.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				for name := range forbidden {
					if regexp.MustCompile(`\b` + name + `\b`).MatchString(lit.Value) {
						t.Errorf("a text of the rules holds the planted name %s: %s", name, lit.Value)
					}
				}
			}
			return true
		})
	}
}

// parsed are the files of a package without its tests.
func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()
	pkgs, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(pkgs) == 0 {
		t.Fatal(err, fs.ErrNotExist)
	}
	var files []*ast.File
	for _, name := range pkgs {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

func TestEqualScoresKeepTheOrderOfTheRules(t *testing.T) {
	// The collector's work alone: both rules score the same, and the allocations that
	// cause it come first.
	e := &evidence.Evidence{CPU: profile("ns",
		stack(1, "runtime.mallocgc", "main.f"),
		stack(1000, "runtime.gcDrain", "runtime.gcBgMarkWorker"),
		stack(1000, "main.g"))}
	findings := Diagnose(e)
	if len(findings) < 2 || findings[0].Rule != "allocations" || findings[1].Rule != "gc" {
		t.Errorf("%+v", findings)
	}
}

// profile makes a profile of stacks.
func profile(unit string, stacks ...evidence.Stack) *evidence.Profile {
	p := &evidence.Profile{Unit: unit, Stacks: stacks}
	for _, s := range stacks {
		p.Total += s.Value
	}
	return p
}

// stack makes a stack of functions, the innermost first.
func stack(value int64, funcs ...string) evidence.Stack {
	return evidence.Stack{Value: value, Frames: frames(funcs...)}
}

func frames(funcs ...string) []evidence.Frame {
	var list []evidence.Frame
	for i, fn := range funcs {
		list = append(list, evidence.Frame{Func: fn, File: "x.go", Line: i + 1})
	}
	return list
}
