package matrix

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func printed(t *testing.T, f *File) string {
	t.Helper()
	var b strings.Builder
	if err := f.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestATableIsAligned(t *testing.T) {
	f := buffers(t, none(), 0.02, func(r, w float64) (float64, float64) { return 1000 + r/100 + w/100, 2e6 - r })
	text := printed(t, f)
	var table []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "  ") {
			table = append(table, line)
		}
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("blanks at the end of %q", line)
		}
	}
	if len(table) < 6 || !strings.HasSuffix(table[0], "noise") {
		t.Fatalf("no table:\n%s", text)
	}
	at := strings.Index(table[0], "64 KiB") + len("64 KiB")
	for _, line := range table[1:6] {
		if line[at-1] == ' ' || line[at] != ' ' {
			t.Errorf("a cell does not end under its head:\n%s\n%s", table[0], line)
		}
	}
	for _, want := range []string{"std: requests a second; read buffer down, write buffer across", "std: P99;", "\nknee of std: buffers ", "by the rule: the smallest", "noise: half the range"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestWhatATableSaysOfCells(t *testing.T) {
	f := small(t, SizeConns)
	text := printed(t, f)
	if !strings.Contains(text, "?  not measured yet") || !strings.Contains(text, "knee of std: not known yet") {
		t.Errorf("nothing is measured:\n%s", text)
	}
	f.Cells[0].Runs = []Run{{Round: 1, Place: 1, Reason: "the generator was busy", Figures: map[string]float64{Throughput: 3 << 20}}}
	f.Cells[1].Runs = []Run{{Round: 1, Place: 2, Valid: true, Requests: 99, Figures: map[string]float64{Throughput: 5 << 20, P99: 1.5e6}}}
	f.Derive()
	text = printed(t, f)
	for _, want := range []string{"> 3.15 MB/s", "5.24 MB/s", "1.50 ms*", "the generator was busy", "under 100 requests"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	// A cell that aio does not have is empty, not missing.
	f, err := New(Buffer, Choice{Layers: []string{"aio"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := printed(t, f); strings.Count(text, "?") != 3*5+1 {
		t.Errorf("cells that cannot be:\n%s", text)
	}
}
