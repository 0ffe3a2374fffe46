package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
)

// curved is an outcome whose time is what f says, by connections.
func curved(f func(x float64) float64) *measure.Outcome {
	o := &measure.Outcome{
		Name: "echo/connections", Title: "ever more", Op: "round", Metric: "cpu-ns/request", Baseline: "c1k",
		State: measure.Done, Rounds: 3, Ops: 2, Curve: &measure.Curve{X: "connections", Metric: lab.NsPerOp},
	}
	for _, k := range []float64{1, 2, 4, 8, 12} {
		x := 1000 * k
		v := measure.Variant{Name: fmt.Sprintf("c%vk", k), X: x}
		for _, noise := range []float64{0.9, 1, 1.1} {
			v.Turns = append(v.Turns, measure.Turn{Figures: map[string]float64{lab.NsPerOp: f(x) * noise, "cpu-ns/request": 5000}})
		}
		o.Variants = append(o.Variants, v)
	}
	return o
}

func linear(x float64) float64 { return 5000*x + 1e6 }

func TestACurveFindsItsLine(t *testing.T) {
	c := newCurve(curved(linear))
	if math.Abs(c.fit.Slope-5000) > 1e-6 || math.Abs(c.fit.Intercept-1e6) > 1e-3 || c.fit.R2 < 0.999999 {
		t.Errorf("%+v", c.fit)
	}
	if got, want := c.formula(), "5 µs x connections + 1 ms, R² 1.0000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := newCurve(curved(func(x float64) float64 { return 5000*x - 1e6 })).formula(), "5 µs x connections - 1 ms, R² 1.0000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestACurveInCharacters(t *testing.T) {
	lines := newCurve(curved(linear)).lines()
	text := strings.Join(lines, "\n")
	for _, line := range lines {
		if utf8.RuneCountInString(line) > width-2 || strings.HasSuffix(line, " ") {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(line), line)
		}
	}
	if lines[0] != "time/round by connections" || !strings.HasPrefix(lines[len(lines)-1], "fit: 5 µs x connections") ||
		!strings.HasSuffix(lines[len(lines)-2], " 12,000") {
		t.Errorf("\n%s", text)
	}
	// Of a straight line the points rise from left to right, one for each
	// variant, and the last one stands at the right end.
	var columns []int
	for i := len(lines) - 1; i > 0; i-- {
		if _, row, ok := strings.Cut(lines[i], "|"); ok {
			for at, r := range []rune(row) {
				if r == 'o' {
					columns = append(columns, at)
				}
			}
		}
	}
	want := []int{5, 10, 20, 39, 59} // x/12,000 of 59
	if len(columns) != len(want) {
		t.Fatalf("points in columns %v:\n%s", columns, text)
	}
	for i := range want {
		if columns[i] != want[i] {
			t.Errorf("points in columns %v, want %v:\n%s", columns, want, text)
		}
	}
}

func TestTheTableHasTheCurve(t *testing.T) {
	var b strings.Builder
	NewTable(&b, false).Scenario(curved(linear))
	if !strings.Contains(b.String(), "\n  fit: 5 µs x connections + 1 ms") {
		t.Error(b.String())
	}
}

func TestThePageHasTheCurve(t *testing.T) {
	f := fixture()
	f.Scenarios = append(f.Scenarios, *curved(linear))
	page := rendered(t, f)
	if !strings.Contains(page, "the dashed line is the best straight one: 5 µs x connections") {
		t.Error("no caption")
	}
	svgs := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
	if len(svgs) != 4 { // two of ratios, and two of this scenario
		t.Fatalf("%d plots", len(svgs))
	}
	last := svgs[3]
	for d := xml.NewDecoder(strings.NewReader(last)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in %s", err, last)
		}
	}
	if n := strings.Count(last, "<circle"); n != 5 || strings.Contains(last, "NaN") || strings.Contains(last, "Inf") {
		t.Errorf("%d points in %s", n, last)
	}
}

func TestACurveStaysInItsFrame(t *testing.T) {
	for name, f := range map[string]func(float64) float64{
		"rising": linear, "from below": func(x float64) float64 { return 5000*x - 4e6 }, "falling": func(x float64) float64 { return 1e9 / x },
		"flat": func(float64) float64 { return 7 }, "bent": func(x float64) float64 { return x * x },
	} {
		c := newCurve(curved(f))
		for _, d := range c.Dots() {
			if d.X < curveLeft || d.X > curveRight || d.Hi < curveTop || d.Lo > curveFoot || d.Y < d.Hi || d.Y > d.Lo {
				t.Errorf("%s: %+v", name, d)
			}
		}
		for _, line := range c.lines() {
			if utf8.RuneCountInString(line) > width-2 {
				t.Errorf("%s: %q", name, line)
			}
		}
		if strings.Contains(c.FitPath(), "NaN") {
			t.Errorf("%s: %s", name, c.FitPath())
		}
	}
}

func TestARuinedRoundDoesNotSquashTheCurve(t *testing.T) {
	o := curved(linear)
	o.Variants[0].Turns[2].Figures[lab.NsPerOp] *= 1000
	c := newCurve(o)
	if c.maxY > 1.2*linear(12_000) {
		t.Errorf("the axis goes up to %v for values up to %v", c.maxY, linear(12_000))
	}
	if d := c.Dots()[0]; d.Hi != curveTop || d.Y < curveFoot-30 {
		t.Errorf("%+v", d)
	}
}

func TestNoCurveOfOnePointOrNone(t *testing.T) {
	one := curved(linear)
	for i := range one.Variants[1:] {
		one.Variants[i+1].Turns = nil
	}
	failed := curved(linear)
	failed.State = measure.Failed
	plain := curved(linear)
	plain.Curve = nil
	other := curved(linear)
	other.Curve.Metric = "unknown"
	for name, o := range map[string]*measure.Outcome{"one point": one, "failed": failed, "no curve": plain, "no such figure": other} {
		if c := newCurve(o); c != nil {
			t.Errorf("%s: %v", name, c.lines())
		}
	}
}
