package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// A Summary is what the rounds of one scenario allow to be said.
type Summary struct {
	Scenario string         `json:"scenario"`
	State    measure.State  `json:"state"`
	Reason   string         `json:"reason,omitempty"`
	Metric   string         `json:"metric"`
	Baseline string         `json:"baseline"`
	Rows     []Row          `json:"rows,omitempty"`
	Targets  []TargetResult `json:"targets,omitempty"`
}

// A Row is one variant. What there is no figure for is nil.
type Row struct {
	Variant string                    `json:"variant"`
	Skipped string                    `json:"skipped,omitempty"`
	Figure  *stats.Interval           `json:"figure,omitempty"`  // of the scenario's metric
	Ratio   *stats.Interval           `json:"ratio,omitempty"`   // to the baseline, within rounds; nil for the baseline itself
	Verdict stats.Verdict             `json:"verdict,omitempty"` // of the ratio
	Metrics map[string]stats.Interval `json:"metrics,omitempty"` // everything that was measured

	ratios []float64 // by round
	about  string
}

// Summarize derives medians, intervals, verdicts and targets of one outcome.
// Without figures the summary has a state and a reason only, and its
// targets have no figure.
func Summarize(o *measure.Outcome) Summary {
	s := Summary{Scenario: o.Name, State: o.State, Reason: o.Reason, Metric: o.Metric, Baseline: o.Baseline}
	if o.Measured() {
		for i := range o.Variants {
			s.Rows = append(s.Rows, row(o, &o.Variants[i]))
		}
	}
	for _, t := range o.Targets {
		s.Targets = append(s.Targets, judge(o, t))
	}
	return s
}

func row(o *measure.Outcome, v *measure.Variant) Row {
	r := Row{Variant: v.Name, Skipped: v.Skipped, about: v.About, Metrics: map[string]stats.Interval{}}
	for _, metric := range v.Metrics() {
		r.Metrics[metric] = stats.MedianInterval(v.Values(metric), stats.Confidence)
	}
	if figure, ok := r.Metrics[o.Metric]; ok {
		r.Figure = &figure
	}
	if v.Name == o.Baseline {
		return r
	}
	if r.ratios = ratios(o, v.Name, o.Baseline, o.Metric); r.ratios != nil {
		c := stats.Compare(r.ratios)
		r.Ratio, r.Verdict = &c.Interval, c.Verdict
	}
	return r
}

func note(o *measure.Outcome, s *Summary) string {
	text := fmt.Sprintf("%s of %s x %s", units.Plural(o.Rounds, "round"), units.Grouped(float64(o.Ops)), o.Op)
	if o.State == measure.Partial {
		text += "; " + o.Reason
	}
	if o.Rounds == 1 {
		return text + "; a single round has no interval"
	}
	for _, r := range s.Rows {
		if r.Figure != nil && r.Figure.Coverage < stats.Confidence {
			return text + fmt.Sprintf("; intervals of so few rounds cover %.0f %% only", 100*r.Figure.Coverage)
		}
	}
	return text
}

// A Status is what became of a target.
type Status string

const (
	Met       Status = "met"       // all of the interval is on the right side of the bound
	Missed    Status = "missed"    // all of it is on the wrong side
	Undecided Status = "undecided" // Why says why
)

// A Why is why a target is undecided.
type Why string

const (
	NoFigure  Why = "no-figure"  // nothing was measured to compare it with
	FewRounds Why = "few-rounds" // fewer than stats.Fewest
	OnBound   Why = "on-bound"   // the interval has the bound in it
)

var whyTexts = map[Why]string{NoFigure: "nothing was measured", FewRounds: "too few rounds", OnBound: "the bound is within the interval"}

// A TargetResult is a target with the figure that it was compared with.
type TargetResult struct {
	lab.Target
	Value  *stats.Interval `json:"value,omitempty"`
	Status Status          `json:"status"`
	Why    Why             `json:"why,omitempty"`
}

// resolution is how exactly a figure without a ratio is compared with its
// bound. The runtime itself sometimes allocates, for example for the collector's workers.
// That must not make a target of zero a miss; an allocation in 2,000 operations does.
var resolution = map[string]float64{
	lab.AllocsPerOp: 0.001,
	lab.BytesPerOp:  1,
}

func judge(o *measure.Outcome, t lab.Target) TargetResult {
	metric := cmp.Or(t.Metric, o.Metric)
	if t.Against == "" {
		t.Metric = metric // whose unit the value has
	}
	result := TargetResult{Target: t, Status: Undecided, Why: NoFigure}
	if !o.Measured() {
		return result
	}
	var values []float64
	if t.Against == "" {
		values = valuesOf(o, t.Variant, metric)
	} else {
		values = ratios(o, t.Variant, t.Against, metric)
	}
	if values == nil {
		return result
	}
	in := stats.MedianInterval(values, stats.Confidence)
	result.Value = &in
	if len(values) < stats.Fewest {
		result.Why = FewRounds
		return result
	}
	lo, hi := in.Lo, in.Hi
	if step := resolution[metric]; t.Against == "" && step > 0 {
		lo, hi = math.Round(lo/step)*step, math.Round(hi/step)*step
	}
	bound, below := bound(t)
	good, bad := hi <= bound, lo > bound
	if !below {
		good, bad = lo >= bound, hi < bound
	}
	switch {
	case good:
		result.Status, result.Why = Met, ""
	case bad:
		result.Status, result.Why = Missed, ""
	default:
		result.Why = OnBound
	}
	return result
}

// Promise says the target in words: "next: at most 0.85 of peek".
func (t TargetResult) Promise() string {
	what := ""
	if t.Metric != "" {
		what = t.Metric + " "
	}
	bound, below := bound(t.Target)
	side := "at least"
	if below {
		side = "at most"
	}
	if t.Against == "" {
		return fmt.Sprintf("%s: %s%s %s", t.Variant, what, side, units.Figure(bound, t.Metric))
	}
	return fmt.Sprintf("%s: %s%s %s of %s", t.Variant, what, side, units.Ratio(bound), t.Against)
}

func bound(t lab.Target) (value float64, below bool) {
	if t.AtLeast > 0 {
		return t.AtLeast, false
	}
	return t.AtMost, true
}

// ratios are one variant's values to another's, or nil when one of them lacks them
// or is divided by zero.
func ratios(o *measure.Outcome, variant, to, metric string) []float64 {
	values, against := valuesOf(o, variant, metric), valuesOf(o, to, metric)
	if values == nil || len(values) != len(against) {
		return nil
	}
	return stats.Ratios(values, against)
}

func valuesOf(o *measure.Outcome, variant, metric string) []float64 {
	v, ok := o.Variant(variant)
	if !ok {
		return nil
	}
	return v.Values(metric)
}

// Tally counts targets by status.
func Tally(summaries []Summary) map[Status]int {
	count := map[Status]int{}
	for _, s := range summaries {
		for _, t := range s.Targets {
			count[t.Status]++
		}
	}
	return count
}

// Holds reports whether no target was missed, or left without a figure.
func Holds(summaries []Summary) bool {
	fails := func(t TargetResult) bool { return t.Status == Missed || t.Why == NoFigure }
	return !slices.ContainsFunc(summaries, func(s Summary) bool { return slices.ContainsFunc(s.Targets, fails) })
}

func tallyText(summaries []Summary) string {
	count := Tally(summaries)
	return fmt.Sprintf("%d met, %d missed, %d undecided", count[Met], count[Missed], count[Undecided])
}

// Verdicts has a line for each scenario that was run: what was measured against what, the ratio with
// its interval, and the verdict.
func Verdicts(f *File) *document.Table {
	t := &document.Table{Class: "scenarios", Columns: document.Columns("scenario", "what", "against", "ratio", "95 %", "verdict")}
	for _, i := range []int{1, 2, 5} {
		t.Columns[i].Left = true
	}
	for i := range f.Scenarios {
		o := &f.Scenarios[i]
		if s := Summarize(o); o.State != measure.Skipped {
			t.Rows = append(t.Rows, verdictRow(o, &s))
		}
	}
	return t
}

// verdictRow is the line of one scenario: that of its first target which is missed, or
// else undecided, or else of its first; without targets that of its last variant.
func verdictRow(o *measure.Outcome, s *Summary) document.Row {
	row := document.Row{Cells: []document.Cell{{Text: o.Name, About: o.Title}, {}, {}, {}, {}, {Text: string(o.State), Style: document.Dim}}}
	if !o.Measured() {
		row.Cells[5] = document.Cell{Text: string(o.State), Style: document.Bad, About: o.Reason}
		return row
	}
	if t := firstTarget(s); t != nil {
		row.Cells[1].Text, row.Cells[2].Text = t.Variant, t.Against
		if t.Against == "" {
			row.Cells[2].Text = asked(o, t)
		}
		if t.Value != nil {
			row.Cells[3].Text, row.Cells[4].Text = valueText(*t, t.Value.Median), valueText(*t, t.Value.Lo)+" .. "+valueText(*t, t.Value.Hi)
		}
		row.Cells[5] = targetsCell(s, t)
		return row
	}
	for i := len(s.Rows) - 1; i >= 0; i-- {
		if r := &s.Rows[i]; r.Ratio != nil {
			row.Cells[1].Text, row.Cells[2].Text = r.Variant, s.Baseline
			row.Cells[3].Text, row.Cells[4] = units.Ratio(r.Ratio.Median), rangeCell(r.Ratio)
			row.Cells[5] = document.Cell{Text: string(r.Verdict), Style: document.Dim}
			return row
		}
	}
	row.Cells[5].Text = "no ratio"
	return row
}

// asked is the bound of a target with its side: "≤ 0 B", "≥ 2".
func asked(o *measure.Outcome, t *TargetResult) string {
	bound, below := bound(t.Target)
	text := units.Ratio(bound)
	if t.Against == "" {
		metric := cmp.Or(t.Metric, o.Metric)
		if text = units.Figure(bound, metric); text == units.Number(bound) {
			text += " " + metricLabel(metric, o.Op)
		}
	}
	if below {
		return "≤ " + text
	}
	return "≥ " + text
}

func firstTarget(s *Summary) *TargetResult {
	for _, status := range []Status{Missed, Undecided, Met} {
		if i := slices.IndexFunc(s.Targets, func(t TargetResult) bool { return t.Status == status }); i >= 0 {
			return &s.Targets[i]
		}
	}
	return nil
}

// targetsCell is the verdict on a scenario: the worst of its targets', and how many there
// are of it.
func targetsCell(s *Summary, worst *TargetResult) document.Cell {
	n := Tally([]Summary{*s})[worst.Status]
	c := document.Cell{Text: string(worst.Status), Style: styleOf(worst.Status), About: whyTexts[worst.Why]}
	if len(s.Targets) > 1 {
		c.Text += fmt.Sprintf(" (%d of %d)", n, len(s.Targets))
	}
	return c
}
