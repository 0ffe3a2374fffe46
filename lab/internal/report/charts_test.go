package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/load"
)

var coordinate = regexp.MustCompile(`-?[0-9.]+`)

// points are the places that a path goes through.
func points(t *testing.T, path string) (list [][2]float64) {
	t.Helper()
	numbers := coordinate.FindAllString(path, -1)
	for i := 0; i+1 < len(numbers); i += 2 {
		x, _ := strconv.ParseFloat(numbers[i], 64)
		y, _ := strconv.ParseFloat(numbers[i+1], 64)
		list = append(list, [2]float64{x, y})
	}
	return list
}

func TestEveryNineTakesAsMuchRoom(t *testing.T) {
	c := percentilePlot([]*load.Result{loadFixture(1, 1, 1)}, []string{"run"})
	at := map[string]float64{}
	for _, n := range c.Across {
		at[n.Label] = n.X
	}
	nine := at["99 %"] - at["90 %"]
	if nine < 50 || math.Abs(at["99.9 %"]-at["99 %"]-nine) > 0.3 || math.Abs(at["90 %"]-at["0 %"]-nine) > 0.3 || at["max"] != chartRight {
		t.Errorf("%v", at)
	}
	if len(c.Lines) != 2 || c.Lines[0].Style != "line" || c.Lines[1].Style != "dashed" || c.Lines[0].Class != c.Lines[1].Class {
		t.Errorf("an open loop has the service time dashed in the same colour: %+v", c.Legend)
	}
	for _, l := range c.Lines {
		last := [2]float64{0, chartBottom + 1}
		for _, p := range points(t, l.Path) {
			if p[0] < last[0] || p[1] > last[1] || p[0] < chartLeft || p[0] > chartRight || p[1] < chartTop || p[1] > chartBottom {
				t.Fatalf("%v behind %v", p, last)
			}
			last = p
		}
	}
	// From the intended time it is longer, so its line is above.
	a, b := points(t, c.Lines[0].Path), points(t, c.Lines[1].Path)
	if a[60][1] >= b[60][1] {
		t.Errorf("%v and %v", a[60], b[60])
	}
	closed := loadFixture(1, 1, 1)
	closed.Plan.Rate = 0
	if c := percentilePlot([]*load.Result{closed}, []string{"run"}); len(c.Lines) != 1 {
		t.Errorf("a closed loop has %d lines", len(c.Lines))
	}
}

func TestRunsInOnePlotAreTellable(t *testing.T) {
	runs := []*load.Result{loadFixture(1, 1, 1), invalidLoad(), loadFixture(2, 0.5, 2)}
	runs[1].Latency = nil
	c := percentilePlot(runs, []string{"1: a", "2: b", "3: c"})
	var marks, classes []string
	for _, l := range c.Lines {
		if l.Style == "line" {
			marks, classes = append(marks, l.Mark), append(classes, l.Class)
		}
	}
	if !slices.Equal(marks, []string{"1", "3"}) || !slices.Equal(classes, []string{"s1", "s3"}) {
		t.Errorf("%v, %v", marks, classes)
	}
	if percentilePlot(runs[1:2], []string{"b"}) != nil {
		t.Error("a plot of a run without a latency")
	}
}

func TestNothingIsDrawnOfNothing(t *testing.T) {
	none := &load.Result{}
	runs, names := []*load.Result{none}, []string{"x"}
	if percentilePlot(runs, names) != nil || throughputPlot(runs, names) != nil || tailPlot(none) != nil {
		t.Error("a plot of nothing")
	}
	zero := &load.Result{Valid: true, Latency: &load.Distribution{Count: 5, Curve: []load.Quantile{{Q: 0}, {Q: 1}}}, Series: make([]load.Second, 3), P99s: make([]load.WindowP99, 3)}
	if percentilePlot([]*load.Result{zero}, names) != nil || throughputPlot([]*load.Result{zero}, names) != nil || tailPlot(zero) != nil {
		t.Error("a plot of zeros")
	}
}

func TestTheTimeSeriesBreaksWhereNothingWasAnswered(t *testing.T) {
	c := tailPlot(loadFixture(1, 1, 1))
	if n := strings.Count(c.Lines[0].Path, "M"); n != 2 {
		t.Errorf("the line of P99s has %d parts, want two around the stall", n)
	}
	if n := strings.Count(c.Lines[1].Path, "H"); n != 6 || c.Lines[1].Style != "bars" {
		t.Errorf("%d bars of jitter", n)
	}
}

func TestLongRunsAreThinned(t *testing.T) {
	r := loadFixture(1, 1, 1)
	r.P99s, r.Series = nil, nil
	for i := range 36_000 {
		p := 100 * time.Microsecond
		if i == 17_000 {
			p = time.Second
		}
		r.P99s = append(r.P99s, load.WindowP99{At: time.Duration(i+1) * 100 * time.Millisecond, P99: p})
		r.Series = append(r.Series, load.Second{At: time.Duration(i+1) * 100 * time.Millisecond, Rate: 5, Mean: 5})
	}
	c := tailPlot(r)
	list := points(t, c.Lines[0].Path)
	top := chartBottom + 0.0
	for _, p := range list {
		top = min(top, p[1])
	}
	if len(list) > mostPlotted || top > chartTop+20 || !strings.Contains(c.Caption, "36,000") {
		t.Errorf("%d points up to %v: %s", len(list), top, c.Caption)
	}
	if c := throughputPlot([]*load.Result{r}, []string{"x"}); len(c.Lines[0].Dots()) > mostPlotted {
		t.Errorf("%d dots", len(c.Lines[0].Dots()))
	}
}

func TestTicksOfScales(t *testing.T) {
	for _, hi := range []float64{1e-9, 0.003, 0.7, 1, 9.99, 1000, 1023, 1024, 3e6, 2e9, 5e17} {
		s := fromZero(hi, 1024)
		ticks := s.ticks(1024)
		if len(ticks) < 3 || len(ticks) > 8 || ticks[0] != 0 || s.hi < hi*0.999 || s.hi > 3*hi || s.at(hi) > 1 {
			t.Errorf("%v: up to %v, ticks %v", hi, s.hi, ticks)
		}
	}
	for _, c := range [][2]float64{{1, 1}, {100, 130}, {1e3, 1e9}, {1, 1e18}, {5e-9, 1e18}} {
		s := overDecades(c[0], c[1])
		if ticks := s.ticks(1000); len(ticks) < 1 || len(ticks) > 8 || s.at(c[0]) <= 0 || s.at(c[1]) >= 1 {
			t.Errorf("%v: ticks %v, from %v to %v", c, ticks, s.at(c[0]), s.at(c[1]))
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -5, 0} {
		for _, s := range []scale{fromZero(1, 1000), overDecades(1, 10), overDecades(0, 0), fromZero(0, 1000)} {
			if at := s.at(v); !(at >= 0 && at <= 1) {
				t.Errorf("%v stands at %v", v, at)
			}
		}
	}
}

func TestHeatMapsHaveWordsAndColours(t *testing.T) {
	f := matrixFixture(1, 1)
	maps := heatmaps(f, "m")
	if len(maps) != 4 {
		t.Fatalf("%d heat maps, want one for each of two layers and two figures", len(maps))
	}
	std, aio := maps[0], maps[2]
	if std.Layer != "std" || std.Better != "more is better" || maps[1].Better != "less is better" || !std.Knee || !aio.Knee || maps[1].Knee {
		t.Errorf("%+v", std)
	}
	steps := map[string]bool{}
	for i, row := range std.Rows {
		for j, c := range row.Cells {
			steps[strings.Fields(c.Class)[0]] = true
			if c.Value == "" || c.About == "" || c.Knee != (i == 1 && j == 2) {
				t.Errorf("row %d, column %d: %+v", i, j, c)
			}
		}
	}
	if !steps["h0"] || !steps["h8"] || !steps["invalid"] {
		t.Errorf("colours %v", steps)
	}
	if c := std.Rows[1].Cells[5]; c.Class != "invalid" || !strings.Contains(c.About, "sends were late") || !strings.HasSuffix(c.Value, "/s") || c.Noise != "not the rate" {
		t.Errorf("%+v", c)
	}
	if c := maps[1].Rows[1].Cells[5]; c.Class != "invalid" || c.Value != "invalid" {
		t.Errorf("%+v", c)
	}
	if c := std.Rows[2].Cells[4]; !strings.HasSuffix(c.Class, " part") || !strings.Contains(c.About, "1 of 5 not valid") {
		t.Errorf("%+v", c)
	}
	if c := aio.Rows[7].Cells[5]; c.Class != "none" || c.About != "not measured" {
		t.Errorf("%+v", c)
	}
	if c := aio.Rows[0].Cells[3]; !c.Knee || !aio.Columns[3].Knee || maps[3].Rows[0].Cells[3].Knee {
		t.Errorf("the knee belongs to the throughput of aio alone: %+v", c)
	}
	for v, want := range map[float64]int{0: 0, 1: 0, 2: 0, 1e9: 8, 31623: 4} {
		if got := heatStep(v, 1, 1e9); got != want {
			t.Errorf("%v of 1 to 1e9 has colour %d, want %d", v, got, want)
		}
	}
	if heatStep(5, 5, 5) != 0 || heatStep(math.NaN(), 1, 2) > 8 {
		t.Error("colours of nothing")
	}
}

func TestAFlameGraphAddsUp(t *testing.T) {
	frames := func(names ...string) (list []evidence.Frame) {
		for _, n := range names {
			list = append(list, evidence.Frame{Func: n})
		}
		return list
	}
	g := newFlamegraph("f", "time", &evidence.Profile{Unit: "ns", Stacks: []evidence.Stack{
		{Value: 30, Frames: frames("a", "main.main")}, {Value: 50, Frames: frames("b", "main.main")}, {Value: 15, Frames: frames("c", "b", "main.main")}, {Value: 5, Frames: frames("x")},
	}})
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
}

// However many different stacks there are, so many frames are drawn and no more.
func TestWideFlameGraphsAreBounded(t *testing.T) {
	p := &evidence.Profile{Unit: "ns"}
	for i := range 900 {
		var s evidence.Stack
		s.Value = 1000
		for j := range 20 {
			s.Frames = append(s.Frames, evidence.Frame{Func: fmt.Sprintf("f%d-%d", i, j)})
		}
		p.Stacks = append(p.Stacks, s)
	}
	g := newFlamegraph("f", "wide", p)
	if len(g.Frames) == 0 || len(g.Frames) > flameFrames || len(g.Notes) == 0 {
		t.Errorf("%d frames, %v", len(g.Frames), g.Notes)
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
		if got := [2]string{shortName(name), kindOfCode(name)}; got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
