package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/measure"
)

func printed(f *File, colour bool) string {
	var b bytes.Buffer
	table := NewTable(&b, colour)
	table.Head(f.Machine)
	for i := range f.Scenarios {
		table.Scenario(&f.Scenarios[i])
	}
	table.Foot(f)
	return b.String()
}

func TestTableSaysWhatWasFound(t *testing.T) {
	text := printed(fixture(), false)
	for _, want := range []string{
		"Test CPU @ 3 GHz, 2 cores, linux/amd64 6.1",
		"go1.25.0, GOMAXPROCS 2, GOGC 100",
		"framing/good",
		"peek *",
		"<= 0.85 ok",
		"next: at most 0.05 of naive   MISSED: 0.10",
		"next: pinned at most 2   no figure",
		"next: allocs/op at most 0 (0)",
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
		if utf8.RuneCountInString(line) > width {
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

func TestColoursOnlyDecorate(t *testing.T) {
	f := fixture()
	coloured := printed(f, true)
	if !strings.Contains(coloured, "\x1b[32m") || !strings.Contains(coloured, "\x1b[31m") {
		t.Error("no colours although asked for")
	}
	var plain strings.Builder
	for i, part := range strings.Split(coloured, "\x1b[") {
		if i > 0 {
			_, part, _ = strings.Cut(part, "m")
		}
		plain.WriteString(part)
	}
	if want := printed(f, false); plain.String() != want {
		t.Errorf("without its colours the table reads\n%s\nand not\n%s", plain.String(), want)
	}
}

func TestNoDifferenceIsATilde(t *testing.T) {
	f := fixture()
	o := &f.Scenarios[0]
	next, _ := o.Variant("next")
	peek, _ := o.Variant("peek")
	next.Turns = peek.Turns
	var b bytes.Buffer
	NewTable(&b, false).Scenario(o)
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
	NewTable(&b, false).Scenario(o)
	if text := b.String(); strings.Contains(text, "ns") || !strings.Contains(text, "INVALID  cheated") {
		t.Error(text)
	}
}
