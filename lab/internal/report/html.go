package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/units"
)

//go:embed *.html style.css flame.js
var assets embed.FS

var (
	page        = template.Must(template.New("bench.html").ParseFS(assets, "*.html"))
	styleSource = asset("style.css")
	flameSource = asset("flame.js")
)

func asset(name string) string {
	text, err := assets.ReadFile(name)
	if err != nil {
		panic("report: " + err.Error()) // it is part of the program
	}
	return string(text)
}

// shell is what every page needs besides its contents.
type shell struct {
	Style  template.CSS
	Script template.JS
	// Policy forbids everything but the style and the script of this very page:
	// nothing is asked for from outside, and nothing that came out of a file can run.
	Policy string
}

func newShell() shell {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return shell{template.CSS(styleSource), template.JS(flameSource), "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(styleSource) + "; script-src " + hash(flameSource)}
}

// WriteHTML writes one page that opens without a network: style and plots
// stand in it, and so do the raw values, as the JSON that Load reads. The
// plots are SVG made here rather than by a plotting library because those
// fix their colours, and this page follows the reader's light or dark theme and prints.
func (f *File) WriteHTML(w io.Writer) error {
	var raw bytes.Buffer
	// Marshal escapes <, > and &, so that no text can end the element.
	if err := json.NewEncoder(&raw).Encode(saved{f, f.Summaries()}); err != nil {
		return err
	}
	return page.ExecuteTemplate(w, "bench.html", newPageData(f, "", template.JS(raw.Bytes())))
}

type pageData struct {
	Shell    shell
	File     *File
	Machine  [2]string
	Command  string
	Started  string
	Took     string
	Deciding bool
	Open     []targetLine // targets that are not met
	Met      []targetLine
	Tally    string
	Faults   []Summary // invalid and failed
	Groups   []group
	Raw      template.JS
}

type targetLine struct {
	Scenario, Promise, Value, Class, Status string
}

type group struct {
	ID, Name string
	Sections []section
}

type section struct {
	Outcome *measure.Outcome
	Summary Summary
	Plot    *plot
	Curve   *curve
	Note    string
	Heads   []string
	Rows    []line
	Missing []Row
	Targets []targetLine
}

// A line is a variant in the table of a section. Cells go with the section's heads.
type line struct {
	Name, About, Class string
	Baseline           bool
	Cells              []string
}

// newPageData derives everything; ids begin with the prefix, where there are
// several files in one page.
func newPageData(f *File, prefix string, raw template.JS) pageData {
	d := pageData{
		Shell: newShell(), File: f, Machine: f.Machine.Lines(), Command: strings.Join(f.Command, " "),
		Started: f.Started.Format(dateFormat), Took: units.Span(time.Duration(f.Seconds * float64(time.Second))),
		Deciding: f.Mode == "full" && !f.Interrupted, Raw: raw,
	}
	summaries := f.Summaries()
	d.Tally = tallyText(summaries)
	for i := range f.Scenarios {
		o, s := &f.Scenarios[i], summaries[i]
		if s.State == measure.Invalid || s.State == measure.Failed {
			d.Faults = append(d.Faults, s)
		}
		sec := newSection(o, s)
		for _, t := range sec.Targets {
			if t.Status == string(Met) {
				d.Met = append(d.Met, t)
			} else {
				d.Open = append(d.Open, t)
			}
		}
		name, _, _ := strings.Cut(o.Name, "/")
		if n := len(d.Groups); n == 0 || d.Groups[n-1].Name != name {
			d.Groups = append(d.Groups, group{ID: fmt.Sprintf("%sg%d", prefix, len(d.Groups)+1), Name: name})
		}
		last := &d.Groups[len(d.Groups)-1]
		last.Sections = append(last.Sections, sec)
	}
	return d
}

const dateFormat = "2 January 2006, 15:04:05 MST"

func newSection(o *measure.Outcome, s Summary) section {
	sec := section{Outcome: o, Summary: s, Plot: newPlot(&s), Curve: newCurve(o)}
	sec.Note = note(o, &s)
	for _, t := range s.Targets {
		sec.Targets = append(sec.Targets, newTargetLine(s.Scenario, t))
	}
	metrics := []string{}
	for _, metric := range []string{lab.NsPerOp, lab.CPUPerOp, measure.MBPerS, lab.AllocsPerOp, lab.BytesPerOp, lab.GCRuns} {
		if metric != o.Metric && slices.ContainsFunc(s.Rows, func(r Row) bool { _, ok := r.Metrics[metric]; return ok }) {
			metrics = append(metrics, metric)
		}
	}
	metrics = append(metrics, ownMetrics(&s, o.Metric)...)
	sec.Heads = []string{metricLabel(o.Metric, o.Op), "95 %", "ratio", "95 %"}
	for _, metric := range metrics {
		sec.Heads = append(sec.Heads, metricLabel(metric, o.Op))
	}
	for _, r := range s.Rows {
		if r.Skipped != "" {
			sec.Missing = append(sec.Missing, r)
			continue
		}
		sec.Rows = append(sec.Rows, newLine(o, r, metrics))
	}
	return sec
}

func newLine(o *measure.Outcome, r Row, metrics []string) line {
	l := line{Name: r.Variant, About: r.about, Baseline: r.Variant == o.Baseline, Cells: []string{"–", "", "", ""}}
	if r.Figure != nil {
		l.Cells[0] = units.Figure(r.Figure.Median, o.Metric)
		l.Cells[1] = units.Range(r.Figure.Lo, r.Figure.Hi, o.Metric)
	}
	switch {
	case l.Baseline:
		l.Cells[2] = "1"
	case r.Ratio != nil:
		l.Cells[2], l.Class = units.Ratio(r.Ratio.Median), r.Verdict
		if r.Verdict == "~" {
			l.Cells[2], l.Class = "~ "+l.Cells[2], "same"
		}
		l.Cells[3] = units.Ratio(r.Ratio.Lo) + " – " + units.Ratio(r.Ratio.Hi)
	}
	for _, metric := range metrics {
		in, ok := r.Metrics[metric]
		if !ok {
			l.Cells = append(l.Cells, "–")
			continue
		}
		l.Cells = append(l.Cells, units.Figure(in.Median, metric))
	}
	return l
}

func newTargetLine(scenario string, t TargetResult) targetLine {
	l := targetLine{Scenario: scenario, Promise: t.Promise(), Status: string(t.Status), Class: "same"}
	if t.Value == nil {
		return l
	}
	l.Value, l.Class = valueText(t), "less"
	if t.Status == Missed {
		l.Class = "more"
	}
	return l
}
