package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/measure"
)

func printed(f *File, colour bool) string {
	var b bytes.Buffer
	table := document.NewPrinter(&b, colour)
	table.Print(BenchHead(f.Machine)...)
	for i := range f.Scenarios {
		table.Print(Scenario(&f.Scenarios[i]))
	}
	table.Print(BenchFoot(f)...)
	return b.String()
}

func TestTableSaysWhatWasFound(t *testing.T) {
	text := printed(fixture(), false)
	for _, want := range []string{
		"Test CPU @ 3 GHz, 2 cores, linux/amd64 6.1",
		"go1.25.0, GOMAXPROCS 2, GOGC 100",
		"framing/good",
		"peek *",
		"met  next: at most 0.85 of peek (0.80)",
		"MISSED: 0.10  next: at most 0.05 of naive",
		"undecided  next: pinned at most 2",
		"met  next: allocs/op at most 0 (0)",
		"splice is not here: not on this system",
		"15 rounds of 241,000 x frame",
		"3 rounds of 241,000 x frame; interrupted; intervals of so few rounds cover 75 % only",
		"INVALID  not the same work in 241000 operations: next consumed 10 bytes with sum 0x1,",
		"FAILED  next: the wire broke",
		"SKIPPED  not reached",
		"2 of 5 scenarios in 83 s, seed 9223372036854775815; interrupted, only whole rounds are kept",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("colours where none were asked for")
	}
}

func TestTableFitsATerminal(t *testing.T) {
	f := fixture()
	f.Scenarios[0].Title = strings.Repeat("a rather long title ", 8)
	var narrow []string
	for line := range strings.Lines(printed(f, false)) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
		if strings.HasSuffix(line, " ") {
			t.Errorf("a trailing space: %q", line)
		}
		narrow = append(narrow, line)
	}
	// Columns are aligned: in a scenario all intervals have their dots below
	// each other's.
	column := 0
	for _, line := range narrow {
		i := strings.Index(line, " .. ")
		switch {
		case line == "":
			column = 0
		case i < 0:
		case column == 0:
			column = i
		case i != column:
			t.Errorf("an interval in column %d, the one above in %d: %s", i, column, line)
		}
	}
}

func TestNoDifferenceIsATilde(t *testing.T) {
	f := fixture()
	o := &f.Scenarios[0]
	next, _ := o.Variant("next")
	peek, _ := o.Variant("peek")
	next.Calls = peek.Calls
	var b bytes.Buffer
	document.NewPrinter(&b, false).Print(Scenario(o))
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "  next ") && !strings.Contains(line, " ~ ") {
			t.Errorf("two equal variants: %s", line)
		}
	}
}

func TestFiguresOfInvalidScenariosAreNotPrinted(t *testing.T) {
	f := fixture()
	o := &f.Scenarios[0]
	o.State, o.Reason = measure.Invalid, "cheated"
	var b bytes.Buffer
	document.NewPrinter(&b, false).Print(Scenario(o))
	if text := b.String(); strings.Contains(text, "ns") || !strings.Contains(text, "INVALID  cheated") {
		t.Error(text)
	}
}

func TestTableSaysThatOthersUsedTheMachine(t *testing.T) {
	const said = "other programs used 0.8 of 2 processors"
	for _, c := range []struct {
		others     float64
		processors int
		says       bool
	}{{0.8, 2, true}, {0.4, 2, false}, {0, 0, false}, {0.8, 8, false}} {
		f := fixture()
		f.Others, f.Processors = c.others, c.processors
		if text := printed(f, false); strings.Contains(text, said) != c.says {
			t.Errorf("%v of %d: %s", c.others, c.processors, text[len(text)/2:])
		}
	}
}
