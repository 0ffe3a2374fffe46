package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// ErrNotComparable is a pair of results of which nothing follows: they are of
// different kinds, machines or plans, or one has no valid figures.
var ErrNotComparable = errors.New("cannot be compared")

// By how much a figure has to differ, unless told otherwise, to count at all. See
// the simulation on recorded noise in lab/stats.
const (
	// LeastRatio is for ratios to the baseline of the same run, in which the
	// machine's speed cancels, and for what is counted.
	LeastRatio = stats.AtLeast
	// LeastFigure is for figures as they are, whose machine may have been slower
	// this time.
	LeastFigure = 0.35
)

// Rule says in words how verdicts come about.
const Rule = "A figure counts as different when its interval leaves 1 outside, at a chance of one in fifty for all rows of a kind together that one of them is a false alarm, " +
	"and when it is away from 1 by the least that counts; with too few values for such an interval by twice that, and a wide gap. " +
	"A single value on each side has no interval: it counts from twice the least on. A regression is a judged figure that became worse."

// Options say how to compare.
type Options struct {
	// AtLeast is the least relative difference that counts, 0.1 for 10 %; 0 for
	// LeastRatio or LeastFigure.
	AtLeast float64
	// Force compares results of different machines and plans all the same.
	Force bool
}

// A Comparison is what became of every figure that two results share.
type Comparison struct {
	Kind        string               `json:"kind"` // comparison
	Of          string               `json:"of"`   // the results' kind
	Old         string               `json:"old"`  // names
	New         string               `json:"new"`
	AtLeast     float64              `json:"at_least"`
	Rule        string               `json:"rule"`
	Doubts      []string             `json:"doubts,omitempty"` // why they should not have been compared
	Notes       []string             `json:"notes,omitempty"`
	Changes     []Change             `json:"changes"`
	Regressions int                  `json:"regressions"`
	Better      int                  `json:"better"`
	Judged      int                  `json:"judged"`
	Machine     []machine.Difference `json:"machine,omitempty"`
}

// A Change is one figure.
type Change struct {
	Item    string          `json:"item"`   // "framing/good next"
	Figure  string          `json:"figure"` // "ns/op to peek", "throughput"
	Metric  string          `json:"metric"` // its unit, as in lab's metrics; ratio for a ratio
	Old     float64         `json:"old"`
	New     float64         `json:"new"`
	Ratio   *stats.Interval `json:"ratio,omitempty"` // new to old; nil for single values
	More    bool            `json:"more"`            // more is better
	Judged  bool            `json:"judged"`          // it counts; others are there to look at
	Verdict string          `json:"verdict"`         // ~, better or worse; empty when not judged
	Note    string          `json:"note,omitempty"`

	earlier, later []float64
	failed         bool
	family         int // rows that are judged together
}

// Families of rows. The chance of a false alarm is held for each of them, since
// what is counted hardly ever gives one, and there is much of it.
const (
	timedRows = iota
	countedRows
	wholeRows
)

// Compare sets a later result against an earlier one. The error is
// ErrNotComparable.
func Compare(earlier, later *Result, o Options) (*Comparison, error) {
	if earlier.Kind != later.Kind {
		return nil, fmt.Errorf("report: %s is of %s, %s of %s: they %w", earlier.Name, earlier.Kind, later.Name, later.Kind, ErrNotComparable)
	}
	c := &Comparison{Kind: "comparison", Of: later.Kind, Old: earlier.Name, New: later.Name, AtLeast: o.AtLeast, Rule: Rule}
	c.Machine = machine.Differences(earlier.Machine(), later.Machine())
	for _, d := range c.Machine {
		if d.Weighs {
			c.doubt("another machine: %s was %s, is %s", d.Name, d.A, d.B)
		} else {
			c.note("%s was %s, is %s", d.Name, d.A, d.B)
		}
	}
	var err error
	switch later.Kind {
	case KindBench:
		c.defaultLeast(LeastRatio)
		c.bench(earlier.Bench, later.Bench)
	case KindLoad:
		c.defaultLeast(LeastFigure)
		err = c.load(earlier.Load, later.Load)
	case KindMatrix:
		c.defaultLeast(LeastFigure)
		err = c.matrix(earlier.Matrix, later.Matrix)
	default:
		err = fmt.Errorf("two results of %s %w: only bench, load and matrix have figures for that", later.Kind, ErrNotComparable)
	}
	if err == nil && len(c.Doubts) > 0 && !o.Force {
		err = fmt.Errorf("%s and %s %w: %s", earlier.Name, later.Name, ErrNotComparable, strings.Join(c.Doubts, "; "))
	}
	if err == nil && len(c.Changes) == 0 {
		err = fmt.Errorf("%s and %s have nothing in common: they %w", earlier.Name, later.Name, ErrNotComparable)
	}
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	c.judge()
	return c, nil
}

func (c *Comparison) doubt(format string, args ...any) {
	c.Doubts = append(c.Doubts, fmt.Sprintf(format, args...))
}

func (c *Comparison) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

func (c *Comparison) defaultLeast(least float64) {
	if c.AtLeast == 0 {
		c.AtLeast = least
	}
}

// add appends a figure with its values in both results. Where one has none it
// is left out.
func (c *Comparison) add(ch Change, earlier, later []float64) {
	if len(earlier) == 0 || len(later) == 0 {
		return
	}
	ch.earlier, ch.later = earlier, later
	ch.Old, ch.New = stats.Median(earlier), stats.Median(later)
	c.Changes = append(c.Changes, ch)
}

// judge gives every figure its interval and, where it counts, its verdict. The
// more there are, the surer each has to be.
func (c *Comparison) judge() {
	among := map[int]int{}
	for i := range c.Changes {
		if c.Changes[i].Judged {
			c.Judged++
			among[c.Changes[i].family]++
		}
	}
	for i := range c.Changes {
		ch := &c.Changes[i]
		verdict := stats.Same
		switch {
		case ch.failed:
			ch.Verdict = "worse"
			c.Regressions++
			continue
		case len(ch.earlier) == 1 && len(ch.later) == 1:
			verdict = single(ch.Old, ch.New, 2*c.AtLeast)
		default:
			r := stats.CompareRuns(ch.earlier, ch.later, c.AtLeast, max(1, among[ch.family]))
			verdict = r.Verdict
			if r.Hi < math.MaxFloat64 && r.Median < math.MaxFloat64 {
				ch.Ratio = &r.Interval
			}
		}
		if !ch.Judged {
			continue
		}
		ch.Verdict = "~"
		switch {
		case verdict == stats.Same:
		case (verdict == stats.More) == ch.More:
			ch.Verdict = "better"
			c.Better++
		default:
			ch.Verdict = "worse"
			c.Regressions++
		}
	}
}

func single(before, after, least float64) stats.Verdict {
	switch {
	case before == after:
		return stats.Same
	case before == 0:
		return stats.More
	case after == 0:
		return stats.Less
	case math.Abs(math.Log(after)-math.Log(before)) < math.Log1p(least):
		return stats.Same
	case after < before:
		return stats.Less
	}
	return stats.More
}

// Save writes the comparison as JSON.
func (c *Comparison) Save(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(c)
}

// RatioText is the ratio of a change, new to old, or a dash.
func (ch *Change) RatioText() string {
	switch {
	case ch.failed:
		return "–"
	case ch.Ratio != nil:
		return units.Ratio(ch.Ratio.Median)
	case ch.Old > 0:
		return units.Ratio(ch.New / ch.Old)
	case ch.New == 0:
		return "1"
	}
	return "–"
}

// Interval is that of the ratio in words, or empty.
func (ch *Change) Interval() string {
	if ch.Ratio == nil {
		return ""
	}
	return units.Ratio(ch.Ratio.Lo) + " – " + units.Ratio(ch.Ratio.Hi)
}

// OldText and NewText are the figures with their units.
func (ch *Change) OldText() string { return ch.text(ch.Old) }

// NewText is the later figure.
func (ch *Change) NewText() string {
	if ch.failed {
		return "–"
	}
	return ch.text(ch.New)
}

func (ch *Change) text(v float64) string {
	if ch.Metric == ratioMetric {
		return units.Ratio(v)
	}
	return units.Figure(v, ch.Metric)
}

// ratioMetric is the metric of a change that compares ratios.
const ratioMetric = "ratio"

// Verdicts says in one line what it came to.
func (c *Comparison) Verdicts() string {
	text := fmt.Sprintf("%s judged: %s worse, %d better, %d ~", units.Plural(c.Judged, "figure"), fmt.Sprint(c.Regressions), c.Better, max(0, c.Judged-c.Regressions-c.Better))
	return text
}

// Percent is AtLeast in per cent.
func (c *Comparison) Percent() float64 { return c.AtLeast * 100 }

// Class is how a page colours the verdict.
func (ch *Change) Class() string {
	switch ch.Verdict {
	case "worse":
		return "more"
	case "better":
		return "less"
	}
	return "same"
}
