package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func rendered(t *testing.T, f *File) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageAsksForNothingFromOutside(t *testing.T) {
	page := rendered(t, fixture())
	for _, pattern := range []string{
		`https?://`, `(?i)\bsrc\s*=`, `(?i)<link`, `(?i)@import`, `(?i)url\(`, `(?i)<iframe`, `(?i)\bfetch\(`,
	} {
		if found := regexp.MustCompile(pattern).FindString(page); found != "" {
			t.Errorf("the page contains %q", found)
		}
	}
	for _, href := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(href[1], "#") {
			t.Errorf("a link to %q", href[1])
		} else if !strings.Contains(page, `id="`+href[1][1:]+`"`) {
			t.Errorf("a link to %q, which is not there", href[1])
		}
	}
}

func TestPageEscapesTexts(t *testing.T) {
	page := rendered(t, fixture())
	if strings.Contains(page, "<b>from</b>") || !strings.Contains(page, "frames &lt;b&gt;from&lt;/b&gt; memory") {
		t.Error("a title became markup")
	}
	if n := strings.Count(page, "</script>"); n != 1 {
		t.Errorf("%d ends of script elements, want 1", n)
	}
}

func TestPageCarriesTheRawValues(t *testing.T) {
	f := fixture()
	page := rendered(t, f)
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="results">`)
	raw, _, ended := strings.Cut(rest, "</script>")
	if !ok || !ended {
		t.Fatal("no results in the page")
	}
	got, err := Load(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, f) {
		t.Error("the results in the page are not those that were measured")
	}
}

func TestPageSaysWhatWasFound(t *testing.T) {
	page := rendered(t, fixture())
	for _, want := range []string{
		"Test CPU @ 3 GHz", "go1.25.0, GOMAXPROCS 2, GOGC 100", "lab bench --full &lt;x&gt;", "4 March 2026", "interrupted",
		"<strong>tcp/128: invalid.</strong> not the same work", "<strong>tcp/1K: failed.</strong>",
		"next: at most 0.05 of naive", "missed", "splice is not here: not on this system", "15 rounds of 241,000 x frame",
		"prefers-color-scheme: dark", "@media print",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(page, "<svg"); n != 2 {
		t.Errorf("%d plots, want one for each of the two scenarios with figures", n)
	}
}

func TestPlotsAreWellFormed(t *testing.T) {
	page := rendered(t, fixture())
	for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1) {
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("a coordinate is no number: %s", svg)
		}
	}
}

func TestPlotPlacesRatiosByTheirLogarithm(t *testing.T) {
	s := Summarize(&fixture().Scenarios[0])
	p := newPlot(&s)
	marks := map[string]mark{}
	for _, m := range p.Marks {
		marks[m.Name] = m
	}
	if len(p.Marks) != 3 {
		t.Fatalf("%d marks, want the three variants that ran", len(p.Marks))
	}
	naive, next, peek := marks["naive"], marks["next"], marks["peek"]
	if peek.X != p.One || naive.Class != "more" || next.Class != "less" {
		t.Errorf("%+v", marks)
	}
	// log 8 to log 0.8, within what two per cent of noise and rounding make.
	if got, want := (naive.X-p.One)/(p.One-next.X), math.Log(8)/-math.Log(0.8); math.Abs(got/want-1) > 0.1 {
		t.Errorf("distances from 1 are as %.2f, want %.2f", got, want)
	}
	for _, m := range p.Marks {
		if m.X < plotLeft || m.X > plotRight || (m.Hi > 0 && (m.Lo > m.X || m.X > m.Hi)) {
			t.Errorf("%s lies at %v within %v to %v", m.Name, m.X, m.Lo, m.Hi)
		}
	}
	if len(next.Dots) != 15 || next.Bound == 0 {
		t.Errorf("%d dots, bound at %v", len(next.Dots), next.Bound)
	}
}

func TestPlotWithoutRatios(t *testing.T) {
	o := &fixture().Scenarios[0]
	o.Metric = "gc-runs" // zero everywhere
	s := Summarize(o)
	if p := newPlot(&s); p != nil {
		t.Errorf("a plot of nothing: %+v", p)
	}
	f := fixture()
	f.Scenarios[0].Metric = "gc-runs"
	if page := rendered(t, f); strings.Count(page, "<svg") != 1 {
		t.Error("want one plot")
	}
}

func TestTicksAreRoundAndFew(t *testing.T) {
	for _, c := range []struct{ lo, hi float64 }{{0.97, 1.02}, {0.5, 1}, {0.05, 1.1}, {0.9, 15}, {0.0001, 20000}} {
		a := newAxis(c.lo, c.hi)
		ticks := a.ticks()
		if len(ticks) < 3 || len(ticks) > 12 {
			t.Errorf("%v to %v: ticks %v", c.lo, c.hi, ticks)
		}
		hasOne := false
		for i, value := range ticks {
			hasOne = hasOne || math.Abs(value-1) < 1e-9
			if i > 0 && a.x(value)-a.x(ticks[i-1]) < 15 {
				t.Errorf("%v to %v: %v and %v touch", c.lo, c.hi, ticks[i-1], value)
			}
		}
		if !hasOne {
			t.Errorf("%v to %v: no tick at 1: %v", c.lo, c.hi, ticks)
		}
	}
}
