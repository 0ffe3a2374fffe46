package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/matrix"
)

func TestEveryNineTakesAsMuchRoom(t *testing.T) {
	c := percentileChart(loadFixture(1, 1, 1))
	at := map[string]float64{}
	for _, n := range c.X.Marks {
		at[n.Label] = c.XAt(n.At)
	}
	nine := at["99 %"] - at["90 %"]
	if nine < 50 || math.Abs(at["99.9 %"]-at["99 %"]-nine) > 0.3 || math.Abs(at["90 %"]-at["0 %"]-nine) > 0.3 || at["max"] != 736 {
		t.Errorf("%v", at)
	}
	if len(c.Lines) != 2 || c.Lines[0].Style != "line" || c.Lines[1].Style != "dashed" {
		t.Fatalf("an open loop has the service time dashed in the same colour: %+v", c.Lines)
	}
	for _, l := range c.Lines {
		last := [2]float64{0, math.Inf(1)}
		for _, p := range l.Points {
			x, y := c.XAt(p[0]), c.YAt(p[1])
			if x < last[0] || y > last[1] {
				t.Fatalf("%v, %v behind %v", x, y, last)
			}
			last = [2]float64{x, y}
		}
	}
	// From the intended time it is longer.
	if a, b := c.Lines[0].Points[60][1], c.Lines[1].Points[60][1]; a <= b {
		t.Errorf("%v and %v", a, b)
	}
	closed := loadFixture(1, 1, 1)
	closed.Plan.Rate = 0
	if c := percentileChart(closed); len(c.Lines) != 1 {
		t.Errorf("a closed loop has %d lines", len(c.Lines))
	}
}

func TestNothingIsDrawnOfNothing(t *testing.T) {
	zero := &load.Result{Valid: true, Latency: &load.Distribution{Count: 5, Curve: []load.Quantile{{Q: 0}, {Q: 1}}}, Series: make([]load.Second, 3), Due: make([]load.DueWindow, 3)}
	for _, r := range []*load.Result{{}, zero} {
		if charts := loadCharts(r); len(charts) != 0 {
			t.Errorf("%d charts of nothing", len(charts))
		}
	}
}

// overTime is the second or third chart of a run.
func overTime(t *testing.T, r *load.Result, title string) *document.Chart {
	t.Helper()
	for _, item := range loadCharts(r) {
		if c := item.(*document.Chart); c.Title == title {
			return c
		}
	}
	t.Fatalf("no chart of %s", title)
	return nil
}

func TestTheTimeSeriesBreaksWhereNothingWasAnswered(t *testing.T) {
	c := overTime(t, loadFixture(1, 1, 1), "P99 over time")
	if n := strings.Count(c.Path(c.Lines[0]), "M"); n != 2 {
		t.Errorf("the line of P99s has %d parts, want two around the stall", n)
	}
}

func TestLongRunsAreThinned(t *testing.T) {
	r := loadFixture(1, 1, 1)
	r.Due, r.Series = nil, nil
	for i := range 36_000 {
		p := 100 * time.Microsecond
		if i == 17_000 {
			p = time.Second
		}
		r.Due = append(r.Due, load.DueWindow{At: time.Duration(i+1) * 100 * time.Millisecond, Count: 1, P99: p})
		r.Series = append(r.Series, load.Second{At: time.Duration(i+1) * 100 * time.Millisecond, Rate: 5})
	}
	c := overTime(t, r, "P99 over time")
	top := 0.0
	for _, p := range c.Lines[0].Points {
		top = max(top, p[1])
	}
	if n := len(c.Lines[0].Points); n > mostPlotted || top != 1e9 || !strings.Contains(c.Caption, "the highest") {
		t.Errorf("%d points up to %v: %s", n, top, c.Caption)
	}
	if c := overTime(t, r, "throughput over time"); len(c.Lines[0].Points) > mostPlotted {
		t.Errorf("%d points", len(c.Lines[0].Points))
	}
}

func TestHeatMapsHaveWordsAndColours(t *testing.T) {
	f := matrixFixture(1, 1)
	used := marks{}
	maps := map[string]*document.Table{}
	for l, layer := range f.Layers {
		for i := range f.Figures {
			maps[layer+" "+f.Figures[i].Name] = heatmap(f, l, &f.Figures[i], "x", used)
		}
	}
	std, aio := maps["std throughput"], maps["aio throughput"]
	if len(maps) != 4 || !strings.Contains(std.Caption, "more is better") || !strings.Contains(maps["std p99"].Caption, "less is better") {
		t.Fatalf("%d heat maps, %s", len(maps), std.Caption)
	}
	classes := map[string]int{}
	for i, row := range std.Rows {
		if len(row.Cells) != len(f.Columns.Labels)+2 {
			t.Fatalf("%d cells", len(row.Cells))
		}
		for j, c := range row.Cells[1 : len(row.Cells)-1] {
			for _, class := range strings.Fields(c.Class) {
				classes[class]++
			}
			if knee := strings.Contains(c.Class, "knee"); c.Text == "" || c.About == "" || knee != (i == 1 && j == 2) {
				t.Errorf("row %d, column %d: %+v", i, j, c)
			}
		}
	}
	for _, class := range []string{"h0", "h8", "invalid", "knee", "part"} {
		if classes[class] == 0 {
			t.Errorf("no cell is %s: %v", class, classes)
		}
	}
	if c := std.Rows[1].Cells[6]; c.Class != "invalid" || !strings.Contains(c.About, "sends were late") || !strings.HasPrefix(c.Text, "! ") {
		t.Errorf("%+v", c)
	}
	if c := aio.Rows[7].Cells[6]; c.Class != "none" || c.Text != "?" {
		t.Errorf("%+v", c)
	}
	for _, mark := range []string{"!", "?"} {
		if used[mark] == "" {
			t.Errorf("%s is not explained", mark)
		}
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

// Where the generator was the limit a cell says so, and has no figure.
func TestACellOfTheGeneratorsLimitHasNoFigure(t *testing.T) {
	f := matrixFixture(1, 1)
	c := &f.Cells[0]
	for i := range c.Runs {
		c.Runs[i].Valid, c.Runs[i].Reason, c.Runs[i].Code = false, "the generator was out of CPU", load.GeneratorFull
		delete(c.Runs[i].Figures, matrix.P99)
	}
	for i := range f.Figures {
		used := marks{}
		cell := heatmap(f, 0, &f.Figures[i], "x", used).Rows[0].Cells[1]
		if cell.Text != "generator" || cell.Small != "" || !strings.Contains(cell.About, "out of CPU") || !strings.Contains(used["generator"], "the generator was the limit") {
			t.Errorf("%+v, %v", cell, used)
		}
	}
	c.Runs[3].Valid, c.Runs[3].Reason = true, ""
	if cell := heatmap(f, 0, &f.Figures[0], "x", marks{}).Rows[0].Cells[1]; cell.Text == "generator" || !strings.Contains(cell.Class, "part") {
		t.Errorf("with a valid run: %+v", cell)
	}
}

func TestLateSendsCastDoubtOnTheRarestLatencies(t *testing.T) {
	for late, want := range map[float64]string{0: "", 0.0009: "", 0.001: "P99.9 and max", 0.0099: "P99.9 and max", 0.01: "P99 and above", 0.05: "P99 and above"} {
		if got := doubtful(late); got != want {
			t.Errorf("%v: %q, want %q", late, got, want)
		}
	}
}
