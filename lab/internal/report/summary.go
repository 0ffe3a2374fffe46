package report

import (
	"fmt"

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
