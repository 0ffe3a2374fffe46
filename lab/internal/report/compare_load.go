package report

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// fewWindows is how many values a run's windows are put together to: those
// next to each other resemble each other, and would make an interval too narrow.
const fewWindows = 20

// load compares two runs of load. Throughput, requests and P99 have a value for
// each window; what there is one of only has to differ by more.
func (c *Comparison) load(earlier, later *load.Result) error {
	for name, r := range map[string]*load.Result{c.Old: earlier, c.New: later} {
		if !r.Valid {
			return fmt.Errorf("%s is invalid (%s): it %w", name, load.Texts(r.Reasons), ErrNotComparable)
		}
	}
	for _, d := range planDifferences(&earlier.Plan, &later.Plan) {
		c.doubt("another plan: %s", d)
	}
	const item = "load"
	c.add(Change{Item: item, Figure: "throughput", Metric: "B/s", More: true, Judged: true}, blocks(rates(earlier)), blocks(rates(later)))
	c.add(Change{Item: item, Figure: "requests", Metric: "/s", More: true, Judged: true}, blocks(requests(earlier)), blocks(requests(later)))
	c.add(Change{Item: item, Figure: "P99 of a window", Metric: "ns", Judged: true}, blocks(tails(earlier)), blocks(tails(later)))
	one := func(name, metric string, judged bool, of func(*load.Result) *float64) {
		a, b := of(earlier), of(later)
		if a != nil && b != nil {
			c.add(Change{Item: item, Figure: name, Metric: metric, Judged: judged, Note: "a single value"}, []float64{*a}, []float64{*b})
		}
	}
	latency := func(of func(*load.Distribution) time.Duration) func(*load.Result) *float64 {
		return func(r *load.Result) *float64 {
			if r.Latency == nil || r.Latency.Count == 0 {
				return nil
			}
			v := float64(of(r.Latency))
			return &v
		}
	}
	one("P50", "ns", false, latency(func(d *load.Distribution) time.Duration { return d.P50 }))
	one("P99", "ns", false, latency(func(d *load.Distribution) time.Duration { return d.P99 }))
	one("P99.9", "ns", false, latency(func(d *load.Distribution) time.Duration { return d.P999 }))
	one("CPU/request of the target", "ns", true, func(r *load.Result) *float64 {
		if r.Target == nil || r.Target.CPUPerOp == 0 {
			return nil
		}
		return &r.Target.CPUPerOp
	})
	one("CPU/request of the generator", "ns", false, func(r *load.Result) *float64 {
		if r.Generator.CPUPerOp == 0 {
			return nil
		}
		return &r.Generator.CPUPerOp
	})
	return nil
}

// planDifferences are those that make figures incomparable. Where the target
// listens, how long it took and the seed are not among them.
func planDifferences(a, b *load.Plan) []string {
	var list []string
	differ := func(what string, a, b any) {
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			list = append(list, fmt.Sprintf("%s was %s, is %s", what, clipped(x, 100), clipped(y, 100)))
		}
	}
	differ("the protocol", a.Protocol, b.Protocol)
	differ("the number of connections", a.Conns, b.Conns)
	differ("the size", sizesText(a.Sizes), sizesText(b.Sizes))
	differ("the sizes' weights", a.Sizes.Weights, b.Sizes.Weights)
	differ("the rate", rateText(a), rateText(b))
	differ("the depth", a.Depth, b.Depth)
	differ("the windows", a.Windows, b.Windows)
	differ("the faults", a.Faults, b.Faults)
	differ("the verifying", a.Verify, b.Verify)
	differ("the engine", a.Engine, b.Engine)
	differ("the threads", max(1, a.Threads), max(1, b.Threads))
	return list
}

func rates(r *load.Result) []float64 {
	var list []float64
	for _, s := range r.Series {
		list = append(list, s.Rate)
	}
	return list
}

// requests is by the second, of whole windows.
func requests(r *load.Result) []float64 {
	var list []float64
	last := time.Duration(0)
	for _, s := range r.Series {
		if took := s.At - last; took > 0 {
			list = append(list, float64(s.Requests)/took.Seconds())
		}
		last = s.At
	}
	return list
}

func tails(r *load.Result) []float64 {
	var list []float64
	for _, p := range r.P99s {
		list = append(list, float64(p.P99))
	}
	return list
}

// blocks takes the means of neighbours until at most fewWindows are left.
func blocks(values []float64) []float64 {
	every := (len(values) + fewWindows - 1) / fewWindows
	if every <= 1 {
		return values
	}
	var list []float64
	for len(values) > 0 {
		n := min(every, len(values))
		sum := 0.0
		for _, v := range values[:n] {
			sum += v / float64(n)
		}
		list, values = append(list, sum), values[n:]
	}
	return list
}

// sizesText says which lengths requests have.
func sizesText(s load.Sizes) string {
	text := units.Bytes(float64(s.Min))
	if s.Max != s.Min {
		text += " to " + units.Bytes(float64(s.Max))
	}
	if len(s.Weights) > 0 {
		text += " by a histogram"
	}
	return text
}

// rateText says how requests are sent.
func rateText(p *load.Plan) string {
	switch {
	case p.Rate == 0:
		return "closed loop"
	case p.RateBytes:
		return "open loop, " + units.Rate(p.Rate)
	}
	return "open loop, " + units.Number(p.Rate) + "/s"
}
