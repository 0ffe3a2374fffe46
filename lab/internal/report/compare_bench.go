package report

import (
	"math"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/measure"
)

// bench compares two runs of bench. Of each variant that both have, the ratio to
// the baseline of its own run is set against the one that it had then: a machine
// that was slower the whole time does not show. What is counted and not timed,
// allocations, is compared as it is. The baseline's own figure is there to look
// at: the machine's speed is in it.
func (c *Comparison) bench(earlier, later *File) {
	if earlier.Mode != later.Mode {
		c.doubt("another plan: the mode was %s, is %s, which works on other data", earlier.Mode, later.Mode)
	}
	if earlier.Seed != later.Seed {
		c.doubt("another plan: the seed was %d, is %d, so that other sizes were drawn", earlier.Seed, later.Seed)
	}
	var gone []string
	for i := range earlier.Scenarios {
		before := &earlier.Scenarios[i]
		if !before.Measured() {
			continue
		}
		after := outcome(later, before.Name)
		switch {
		case after == nil || after.State == measure.Skipped:
			gone = append(gone, before.Name)
		case !after.Measured():
			c.Changes = append(c.Changes, Change{Item: before.Name, Figure: string(after.State), Judged: true, Verdict: "worse", Note: after.Reason, failed: true})
		case before.Metric != after.Metric || before.Baseline != after.Baseline:
			c.note("%s has another figure or baseline now and is left out", before.Name)
		default:
			c.scenario(before, after)
		}
	}
	if len(gone) > 0 {
		c.note("not in %s: %s", c.New, clipped(strings.Join(gone, ", "), 300))
	}
}

func outcome(f *File, name string) *measure.Outcome {
	for i := range f.Scenarios {
		if f.Scenarios[i].Name == name {
			return &f.Scenarios[i]
		}
	}
	return nil
}

func (c *Comparison) scenario(before, after *measure.Outcome) {
	more := moreIsBetter(before.Metric)
	for i := range before.Variants {
		name := before.Variants[i].Name
		item := before.Name + " " + name
		if name == before.Baseline {
			c.add(Change{
				Item: item, Figure: metricLabel(before.Metric, before.Op), Metric: before.Metric, More: more,
				Note: "the baseline: the machine's own speed is in it",
			}, valuesOf(before, name, before.Metric), valuesOf(after, name, after.Metric))
		} else {
			c.add(Change{Item: item, Figure: metricLabel(before.Metric, before.Op) + " to " + before.Baseline, Metric: ratioMetric, More: more, Judged: true},
				ratios(before, name, before.Baseline, before.Metric), ratios(after, name, after.Baseline, after.Metric))
		}
		for _, metric := range []string{lab.AllocsPerOp, lab.BytesPerOp} {
			if metric != before.Metric {
				c.add(Change{Item: item, Figure: metric, Metric: metric, Judged: true, family: countedRows},
					resolved(valuesOf(before, name, metric), resolution[metric]), resolved(valuesOf(after, name, metric), resolution[metric]))
			}
		}
	}
}

// resolved rounds what is counted to the step below which the runtime's own
// doings show.
func resolved(values []float64, step float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = math.Round(v/step) * step
	}
	return list
}

// moreIsBetter tells by its unit what a figure of bench promises.
func moreIsBetter(metric string) bool { return strings.HasSuffix(metric, "/s") }
