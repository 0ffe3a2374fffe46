package measure

import (
	"maps"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// A State says how far a scenario came.
type State string

const (
	Done    State = "done"    // every round that was asked for
	Partial State = "partial" // interrupted; the rounds that are there are whole
	Invalid State = "invalid" // the variants did not do the same work; no figures
	Failed  State = "failed"  // a variant returned an error; no figures
	Skipped State = "skipped" // not supported here, or not reached; no figures
)

// An Outcome is the result of measuring one scenario. Its fields are read-only
// after Run returned.
type Outcome struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Op       string       `json:"op"`
	Metric   string       `json:"metric"`
	Baseline string       `json:"baseline"`
	State    State        `json:"state"`
	Reason   string       `json:"reason,omitempty"` // why State is not Done
	Ops      int          `json:"ops"`              // operations in each recorded run
	Rounds   int          `json:"rounds"`
	Seconds  float64      `json:"seconds"` // wall time of the scenario with set-up and warm-up
	Variants []Variant    `json:"variants"`
	Targets  []lab.Target `json:"targets,omitempty"`
}

// A Variant is one way of doing the work with one Call for each round. All
// variants of an outcome have the same number of calls, except those that were
// skipped, which have none.
type Variant struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Skipped string `json:"skipped,omitempty"` // why it cannot run on this machine
	Calls   []Call `json:"turns"`
}

// A Call is one recorded call of a variant.
type Call struct {
	Place   int                `json:"place"`        // when it ran within its round, from 0
	Bytes   int64              `json:"bytes"`        // payload bytes consumed
	Check   uint64             `json:"check,string"` // a sum over them; a string in JSON, where large integers lose digits
	Figures map[string]float64 `json:"figures"`      // by metric; what a platform cannot measure is absent
}

// Variant finds a variant by name.
func (o *Outcome) Variant(name string) (*Variant, bool) {
	i := slices.IndexFunc(o.Variants, func(v Variant) bool { return v.Name == name })
	if i < 0 {
		return nil, false
	}
	return &o.Variants[i], true
}

// Values returns a metric's value for each round, or nil when a round lacks it.
func (v *Variant) Values(metric string) []float64 {
	if len(v.Calls) == 0 {
		return nil
	}
	values := make([]float64, len(v.Calls))
	for i, call := range v.Calls {
		value, ok := call.Figures[metric]
		if !ok {
			return nil
		}
		values[i] = value
	}
	return values
}

// Metrics lists the metrics that every run of the variant has, sorted.
func (v *Variant) Metrics() []string {
	if len(v.Calls) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v.Calls[0].Figures)), func(name string) bool { return v.Values(name) == nil })
}

// Measured reports whether there are figures to show.
func (o *Outcome) Measured() bool {
	return (o.State == Done || o.State == Partial) && o.Rounds > 0
}

func (o *Outcome) drop(state State, reason string) {
	o.State, o.Reason, o.Rounds = state, reason, 0
	for i := range o.Variants {
		o.Variants[i].Calls = []Call{}
	}
}

func newOutcome(s *lab.Scenario, quick bool) Outcome {
	o := Outcome{
		Name: s.Name, Title: s.Title, Op: s.Op, Metric: s.Metric, Baseline: s.Baseline,
		State: Skipped, Reason: "not reached", Ops: s.Ops, Targets: slices.Clone(s.Targets),
	}
	if quick && s.Fixed && s.Named {
		o.Title += "; with --quick fewer and shorter"
	}
	for _, v := range s.Variants {
		o.Variants = append(o.Variants, Variant{Name: v.Name, About: v.About, Calls: []Call{}})
	}
	return o
}
