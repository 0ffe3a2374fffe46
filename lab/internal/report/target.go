package report

import (
	"fmt"
	"math"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

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
	metric := t.Metric
	if metric == "" {
		metric = o.Metric
	}
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
