package matrix

import (
	"strings"
	"testing"
	"time"
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
	for _, want := range []string{"> 3 MiB", "5 MiB", "1.50 ms*", "the generator was busy", "under 100 requests"} {
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

func TestFiguresForPeople(t *testing.T) {
	for _, c := range []struct {
		value        float64
		metric, want string
	}{
		{0, "ns", "0 ns"}, {999, "ns", "999 ns"}, {999.6, "ns", "1.00 µs"}, {1500, "ns", "1.50 µs"}, {2.345e9, "ns", "2.35 s"},
		{1 << 30, "B/s", "1 GiB"}, {1023 * 1024, "B/s", "1,020 KiB"}, {123456, "/s", "123,000"}, {12.34, "/s", "12.3"}, {50, "/s", "50"},
		{0.5, "/s", "0.50"}, {1e300, "/s", "1e+300"}, {7, "B", "7 B"},
	} {
		if got := written(c.value, c.metric); got != c.want {
			t.Errorf("%v %s is written as %q, want %q", c.value, c.metric, got, c.want)
		}
	}
	for d, want := range map[time.Duration]string{59 * time.Second: "59 s", 130 * time.Second: "2 min 10 s", 3*time.Hour + 4*time.Minute: "3 h 04 min"} {
		if got := Span(d); got != want {
			t.Errorf("%v is written as %q", d, got)
		}
	}
}
