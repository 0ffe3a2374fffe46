package report

import (
	"fmt"
	"math"

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
	Verdict string                    `json:"verdict,omitempty"` // of the ratio: less, more or ~
	Metrics map[string]stats.Interval `json:"metrics,omitempty"` // everything that was measured

	ratios []float64 // by round
	about  string
}

// A Status is what became of a target.
type Status string

const (
	Met      Status = "ok"
	Missed   Status = "missed"
	NoFigure Status = "no figure" // nothing was measured that it could be held against
)

// A TargetResult is a target with the figure that it was held against.
type TargetResult struct {
	lab.Target
	Value  *stats.Interval `json:"value,omitempty"`
	Status Status          `json:"status"`
}

// resolution is how exactly a figure without a ratio is held against its
// bound. The runtime itself allocates now and then, for a collection's workers say, which
// must not turn a zero into a miss; an allocation in 2,000 operations does.
var resolution = map[string]float64{
	lab.AllocsPerOp: 0.001,
	lab.BytesPerOp:  1,
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
		r.Ratio, r.Verdict = &c.Interval, c.Verdict.String()
	}
	return r
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

func judge(o *measure.Outcome, t lab.Target) TargetResult {
	result := TargetResult{Target: t, Status: NoFigure}
	if !o.Measured() {
		return result
	}
	metric := t.Metric
	if metric == "" {
		metric = o.Metric
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
	held := in.Median
	if t.Upper {
		held = in.Hi
	}
	if step := resolution[metric]; t.Against == "" && step > 0 {
		held = math.Round(held/step) * step
	}
	result.Status = Missed
	if bound, below := bound(t); held == bound || below == (held < bound) {
		result.Status = Met
	}
	return result
}

// Promise says the target in words: "next: at most 0.85 of peek".
func (t TargetResult) Promise() string {
	what := ""
	if t.Metric != "" {
		what = t.Metric + " "
	}
	if t.Upper {
		what += "(upper end) "
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

// bound is the bound of a target, and whether a figure has to stay below it.
func bound(t lab.Target) (value float64, below bool) {
	if t.AtLeast > 0 {
		return t.AtLeast, false
	}
	return t.AtMost, true
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

// tallyText says in words what Tally counts.
func tallyText(summaries []Summary) string {
	count := Tally(summaries)
	text := fmt.Sprintf("%d ok, %d missed", count[Met], count[Missed])
	if count[NoFigure] > 0 {
		text += fmt.Sprintf(", %d without a figure", count[NoFigure])
	}
	return text
}

// note says on how much a scenario's figures rest.
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
