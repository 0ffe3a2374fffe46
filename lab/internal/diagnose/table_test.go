package diagnose

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/planted"
)

func table100(t *testing.T, d *Diagnosis) string {
	t.Helper()
	var b strings.Builder
	if err := d.WriteTable(&b, false); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > tableWidth || strings.HasSuffix(line, " \n") {
			t.Errorf("not in %d columns: %q", tableWidth, line)
		}
	}
	return b.String()
}

func TestTheTableFitsAndSaysAll(t *testing.T) {
	for _, c := range faults {
		e := without(recorded(t, c.name, planted.Fault), evidence.ToolStrace, evidence.ToolPerfStat)
		d := &Diagnosis{Evidence: *e, Findings: Diagnose(e)}
		text := table100(t, d)
		flat := strings.Join(strings.Fields(text), " ")
		for _, f := range d.Findings {
			for _, want := range []string{f.Tool, f.Top, f.Rule, strings.Join(strings.Fields(f.Clue), " "), strings.Join(strings.Fields(f.Try), " ")} {
				if !strings.Contains(flat, want) {
					t.Errorf("%s: no %q in\n%s", c.name, want, text)
				}
			}
		}
		for _, want := range []string{"apt-get install strace", "apt-get install linux-perf", "first: " + c.rule + " in ", "besides, each tool saw most of", "strace is missing: it is not in PATH"} {
			if !strings.Contains(flat, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
	}
	e := recorded(t, "small-writes", planted.Mended)
	if text := table100(t, &Diagnosis{Evidence: *e, Findings: Diagnose(e)}); !strings.Contains(text, "nothing stands out: no rule sees a cost of 20 % or more") {
		t.Errorf("no verdict in\n%s", text)
	}
}

func TestLongNamesAreWrapped(t *testing.T) {
	long := "example." + strings.Repeat("F", 70) + ", some_rather_long_file_name_somewhere.go:1,234"
	text := table100(t, &Diagnosis{
		Evidence: evidence.Evidence{Workload: "w", Took: time.Second, Tools: []evidence.Tool{{Name: "trace", State: evidence.Failed, Note: strings.Repeat("no good ", 30)}}},
		Findings: []Finding{{Rule: "small-writes", Tool: "strace", Top: long, Share: 1, Score: 0.5, Clue: strings.Repeat("words ", 40), Try: "less"}},
	})
	if !strings.Contains(text, "trace failed: no good") || !strings.Contains(text, "small-writes") {
		t.Error(text)
	}
}

func TestColourIsOnlyForThoseWhoWantIt(t *testing.T) {
	e := recorded(t, "small-buffer", planted.Fault)
	d := &Diagnosis{Evidence: *e, Findings: Diagnose(e)}
	var plain, colour strings.Builder
	if err := errors.Join(d.WriteTable(&plain, false), d.WriteTable(&colour, true)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(colour.String(), "\x1b[1msmall-buffer\x1b[0m") {
		t.Errorf("%q", colour.String())
	}
}

func TestAFullDiskIsNoticed(t *testing.T) {
	w := &brokenWriter{}
	d := &Diagnosis{}
	if err := d.WriteTable(w, false); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	if err := d.Save(w); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestADiagnosisIsSavedAndLoaded(t *testing.T) {
	e := recorded(t, "shared-counter", planted.Fault)
	d := &Diagnosis{Kind: Kind, Schema: Schema, Version: "v1", Command: []string{"lab", "diagnose"}, Started: time.Unix(1, 0).UTC(), Findings: Diagnose(e), Evidence: *e}
	var b strings.Builder
	if err := d.Save(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Load(iotest.OneByteReader(strings.NewReader(b.String())))
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("%v: %+v", err, got)
	}
	for _, text := range []string{"", "{}", "[]", `{"kind":"load","schema":1}`, `{"kind":"diagnosis","schema":2}`, b.String()[:200]} {
		if _, err := Load(strings.NewReader(text)); !errors.Is(err, ErrSchema) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if _, err := Load(iotest.ErrReader(io.ErrClosedPipe)); err == nil {
		t.Error("an unreadable file was loaded")
	}
}

func TestTextIsWrapped(t *testing.T) {
	if got := wrap("it took 41 % of the time and 300 ms", 12); strings.Join(got, "|") != "it took 41 %|of the time|and 300 ms" {
		t.Errorf("%q", got)
	}
}
