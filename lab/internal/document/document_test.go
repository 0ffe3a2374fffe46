package document

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/units"
)

func text(colour bool, items ...Item) string {
	var b strings.Builder
	p := NewPrinter(&b, colour)
	p.Print(items...)
	return b.String()
}

// sample has every kind of item, with texts that are too long.
func sample() []Item {
	long := strings.Repeat("a rather long text that has to be broken ", 8) + "41 % of 300 ms " + strings.Repeat("word", 60)
	t := &Table{Caption: "a caption", Columns: []Column{{Name: "what", Left: true, Keep: true}, {Name: "n", Keep: true}, {Name: "kept", Keep: true, Left: true}}}
	row := Row{Cells: []Cell{{Text: "x\ny"}, {Text: "1", Style: Good}, {Text: "yes"}}, Under: []string{long}}
	for i := range 20 {
		t.Columns = append(t.Columns, Column{Name: fmt.Sprintf("column %d", i)})
		row.Cells = append(row.Cells, Cell{Text: "1.00", Style: Dim})
	}
	t.Rows = append(t.Rows, row, Texts("short row"))
	facts := &Facts{}
	facts.Add("a name", long)
	facts.Add("nothing", "")
	section := &Section{Title: "title", Text: long, Items: []Item{Say(long), Fault("MISSED", long), Note("beside"), facts, t, &Fold{Title: "folded", Items: []Item{Say("hidden")}}}}
	return []Item{section}
}

func TestTextFitsATerminal(t *testing.T) {
	got := text(false, sample()...)
	for line := range strings.Lines(got) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > mostWidth || strings.HasSuffix(line, " ") {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(line), line)
		}
	}
	var narrow strings.Builder
	NewPrinter(&narrow, false).Within(40).Print(sample()...)
	for line := range strings.Lines(narrow.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("%d columns on a terminal of 40: %q", n, line)
		}
	}
	for _, want := range []string{"kept", "yes", "column 0", "x y", "MISSED  a rather", "a name", "a caption"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"column 19", "hidden", "nothing", "\x1b"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in\n%s", not, got)
		}
	}
	// All words of a text are there, in their order, wherever lines end.
	if flat := strings.Join(strings.Fields(got), " "); strings.Count(flat, "41 % of 300 ms") != 5 {
		t.Errorf("texts are cut:\n%s", got)
	}
}

func TestATableThatDoesNotFitHasItsCellsBelowEachOther(t *testing.T) {
	table := &Table{Columns: Columns("latency", "P50", "P90", "P99", "P99.9", "max", "mean", "min")}
	for i := range 2 {
		row := []string{fmt.Sprintf("from the time due %d", i)}
		for j := range 7 {
			row = append(row, fmt.Sprintf("%d.%d ms", i, j))
		}
		table.Rows = append(table.Rows, Texts(row...))
	}
	table.Rows[1].Under = []string{strings.Repeat("below ", 20)}
	var b strings.Builder
	mark := strings.Repeat("m", 30)
	NewPrinter(&b, false).Within(40).Print(table, &Para{Mark: mark, Text: "a text behind it"})
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("%d columns on a terminal of 40: %q", n, line)
		}
	}
	if words := strings.Join(strings.Fields(b.String()), " "); !strings.HasPrefix(words, "latency from the time due 0 P50 0.0 ms P90 0.1 ms") ||
		!strings.Contains(words, "min 0.6 ms latency from the time due 1 P50 1.0 ms") || !strings.HasSuffix(words, "min 1.6 ms"+strings.Repeat(" below", 20)+" "+mark+" a text behind it") {
		t.Errorf("it reads\n%s", b.String())
	}
}

// A table that is wider than text is on a terminal still has a line for each row where there is room:
// on a wider terminal and in a pipe.
func TestAWideTableHasALineForEachRow(t *testing.T) {
	table := &Table{Columns: Columns("name", "one", "two")}
	table.Rows = append(table.Rows, Texts("row", strings.Repeat("1", 50), strings.Repeat("2", 50)))
	for columns, lines := range map[int]int{0: 2, 120: 2, 100: 3} {
		var b strings.Builder
		NewPrinter(&b, false).Within(columns).Print(table)
		if n := strings.Count(b.String(), "\n"); n != lines {
			t.Errorf("%d lines on a terminal of %d columns, want %d:\n%s", n, columns, lines, b.String())
		}
	}
}

func TestColoursOnlyDecorate(t *testing.T) {
	coloured := text(true, sample()...)
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
	// Spaces before a line's end may be inside of colours.
	if want := text(false, sample()...); strings.Join(strings.Fields(plain.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("without its colours it reads\n%s\nand not\n%s", plain.String(), want)
	}
}

func TestLinesBreakBetweenWords(t *testing.T) {
	if got := wrap("it took 41 % of the time and 300 ms", 12); strings.Join(got, "|") != "it took 41 %|of the time|and 300 ms" {
		t.Errorf("%q", got)
	}
	if got := wrap("ab cdefghij", 4); strings.Join(got, "|") != "ab|cdef|ghij" {
		t.Errorf("%q", got)
	}
	if got := wrap(" \n ", 4); got != nil {
		t.Errorf("%q", got)
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAFullDiskIsNoticed(t *testing.T) {
	p := NewPrinter(full{}, false)
	p.Print(sample()...)
	if !errors.Is(p.Err(), errFull) {
		t.Error(p.Err())
	}
	if err := (&Page{}).Write(full{}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

func TestMarksOfAxes(t *testing.T) {
	for _, hi := range []float64{1e-9, 0.003, 0.7, 1, 9.99, 1000, 1023, 3e6, 2e9, 5e17} {
		a := Linear("x", hi, units.Number)
		if n := len(a.Marks); n < 3 || n > 8 || a.Marks[0].At != 0 || a.at(hi) != 1 || a.Marks[n-1].At < hi/2 {
			t.Errorf("%v: marks %v", hi, a.Marks)
		}
	}
	for _, c := range [][2]float64{{1, 1}, {100, 130}, {1e3, 1e9}, {1, 1e18}, {5e-9, 1e18}} {
		a := Logarithmic("x", c[0], c[1], units.Number)
		if n := len(a.Marks); n < 1 || n > 9 || a.at(c[0]) <= 0 || a.at(c[1]) >= 1 {
			t.Errorf("%v: marks %v, from %v to %v", c, a.Marks, a.at(c[0]), a.at(c[1]))
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -5, 0} {
		for _, a := range []Axis{Linear("x", 1, units.Number), Logarithmic("x", 1, 10, units.Number), Logarithmic("x", 0, 0, units.Number), Linear("x", 0, units.Number)} {
			if at := a.at(v); !(at >= 0 && at <= 1) {
				t.Errorf("%v stands at %v", v, at)
			}
		}
		if x := (&Bar{}).X(v); !(x >= 0 && x <= barWidth) {
			t.Errorf("a ratio of %v stands at %v", v, x)
		}
	}
	if b := new(Bar); b.X(1) != barWidth/2 || b.X(2)-b.X(1) != b.X(1)-b.X(0.5) {
		t.Error("half and double are not equally far from 1")
	}
}

func TestALineBreaksWhereAPointIsMissing(t *testing.T) {
	c := &Chart{X: Linear("x", 4, units.Number), Y: Linear("y", 4, units.Number)}
	l := Line{Style: "line", Points: [][2]float64{{0, 1}, {1, 2}, {2, math.NaN()}, {3, 4}, {4, 400}}}
	path := c.Path(l)
	if strings.Count(path, "M") != 2 || strings.Count(path, "L") != 2 || strings.Contains(path, "NaN") || !strings.HasSuffix(path, "L736.0 22.0") {
		t.Error(path)
	}
}

type stack struct {
	value float64
	names []string
}

func each(list ...stack) iter.Seq2[float64, []string] {
	return func(yield func(float64, []string) bool) {
		for _, s := range list {
			if !yield(s.value, s.names) {
				return
			}
		}
	}
}

func TestAFlameGraphAddsUp(t *testing.T) {
	g := NewFlame("f", "time", units.Nanoseconds, each(
		stack{30, []string{"main.main", "a"}}, stack{50, []string{"main.main", "b"}}, stack{15, []string{"main.main", "b", "c"}}, stack{5, []string{"x"}}))
	got := map[string]flame{}
	for _, f := range g.Frames {
		got[f.Name] = f
	}
	for name, want := range map[string]flame{
		"all": {Part: 0, Width: 1, Depth: 0}, "main.main": {Part: 0, Width: 0.95, Depth: 1}, "b": {Part: 0, Width: 0.65, Depth: 2},
		"c": {Part: 0, Width: 0.15, Depth: 3}, "a": {Part: 0.65, Width: 0.3, Depth: 2}, "x": {Part: 0.95, Width: 0.05, Depth: 1},
	} {
		f := got[name]
		if math.Abs(f.Part-want.Part) > 1e-9 || math.Abs(f.Width-want.Width) > 1e-9 || f.Depth != want.Depth {
			t.Errorf("%s: %+v, want %+v", name, f, want)
		}
	}
	if g.Total != "100 ns" || !strings.Contains(got["b"].About, "65 ns, 65 %") {
		t.Errorf("%s, %q", g.Total, got["b"].About)
	}
	if NewFlame("f", "none", units.Nanoseconds, each()) != nil {
		t.Error("a flame graph of nothing")
	}
}

// However many different stacks there are and however deep, so many frames are
// drawn and no more.
func TestFlameGraphsAreBounded(t *testing.T) {
	var wide []stack
	for i := range 900 {
		s := stack{value: 1000}
		for j := range 20 {
			s.names = append(s.names, fmt.Sprintf("f%d-%d", i, j))
		}
		wide = append(wide, s)
	}
	deep := stack{value: 1 << 62}
	for i := range 5000 {
		deep.names = append(deep.names, strings.Repeat("x", 1000)+string(rune('a'+i%26)))
	}
	for _, list := range [][]stack{wide, {deep}} {
		g := NewFlame("f", "many", units.Nanoseconds, each(list...))
		if len(g.Frames) == 0 || len(g.Frames) > flameFrames || g.Height > (flameDepth+1)*flameRow || len(g.Notes) == 0 {
			t.Errorf("%d frames, %d pixels, %v", len(g.Frames), g.Height, g.Notes)
		}
	}
}

func TestNamesInFlameGraphs(t *testing.T) {
	for name, want := range map[string][2]string{
		"net/http.(*conn).serve":                            {"http.(*conn).serve", "k-std"},
		"github.com/sluice-go/sluice/mem.(*Buf).Release":    {"mem.(*Buf).Release", "k-own"},
		"github.com/sluice-go/sluice.(*BufReader).fill":     {"sluice.(*BufReader).fill", "k-own"},
		"example.com/a/b.Map[go.shape.int,example.com/c.T]": {"b.Map[go.shape.int,example.com/c.T]", "k-other"},
		"runtime.mallocgc":                                  {"runtime.mallocgc", "k-run"},
		"internal/runtime/maps.(*Map).getWith":              {"maps.(*Map).getWith", "k-run"},
		"internal/runtime/syscall.Syscall6":                 {"syscall.Syscall6", "k-call"},
		"internal/runtime/syscall/linux.Syscall6":           {"linux.Syscall6", "k-call"},
		"golang.org/x/sys/unix.EpollWait":                   {"unix.EpollWait", "k-call"},
		"do_syscall_64":                                     {"do_syscall_64", "k-call"},
		"main.main":                                         {"main.main", "k-other"},
		"":                                                  {"", "k-call"},
		"a/b/[":                                             {"[", "k-call"},
		"(other)":                                           {"(other)", "k-all"},
	} {
		if got := [2]string{ShortName(name), kindOfCode(name)}; got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
