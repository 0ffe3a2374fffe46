package report

import (
	"fmt"

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
	Verdict string                    `json:"verdict,omitempty"` // of the ratio: less, more, ~ or undecided
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
		r.Ratio, r.Verdict = &c.Interval, string(c.Verdict)
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

// bound is the bound of a target, and whether a figure has to stay below it.
func bound(t lab.Target) (value float64, below bool) {
	if t.AtLeast > 0 {
		return t.AtLeast, false
	}
	return t.AtMost, true
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
