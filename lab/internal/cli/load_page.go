package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// A loadPage is what people read of a run.
type loadPage struct{ w io.Writer }

func (t loadPage) line(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

// head says what is going to be done.
func (t loadPage) head(p *load.Plan) {
	t.line("%s %s: %s, %s, %s", p.Protocol, p.Target, units.Plural(p.Conns, "connection"), sizes(p.Sizes), loop(p))
	if p.Faults.Any() {
		t.line("faults     %s", faults(p.Faults))
	}
}

// sizes says how long requests are.
func sizes(s load.Sizes) string {
	from, to := units.Bytes(float64(s.Min)), units.Bytes(float64(s.Max))
	switch {
	case s.Min == s.Max:
		return from
	case len(s.Weights) > 0:
		return fmt.Sprintf("%d sizes from %s to %s, %s on average", len(s.Weights), from, to, units.Bytes(s.Mean()))
	}
	return from + " to " + to
}

// faults says what the generator does wrong on purpose.
func faults(f load.Faults) string {
	var list []string
	if f.SlowConns > 0 {
		list = append(list, fmt.Sprintf("%s read at %s", units.Plural(f.SlowConns, "connection"), units.Rate(f.SlowRate)))
	}
	if f.ResetEvery > 0 {
		list = append(list, fmt.Sprintf("a reset in the middle of every %s", units.Plural(f.ResetEvery, "request")))
	}
	if f.PauseFor > 0 {
		list = append(list, fmt.Sprintf("all pause for %v every %v", f.PauseFor, f.PauseEvery))
	}
	return strings.Join(list, "; ")
}

// loop says which model a plan follows.
func loop(p *load.Plan) string {
	depth := fmt.Sprintf("%s under way on each", units.Plural(p.Depth, "request"))
	switch {
	case p.Rate == 0:
		return "closed loop, " + depth
	case p.RateBytes:
		return "open loop, " + units.Rate(p.Rate) + ", at most " + depth
	}
	return "open loop, " + units.Number(p.Rate) + " requests/s, at most " + depth
}

// calibration says what was found out before the run.
func (t loadPage) calibration(c *load.Calibration, p *load.Plan) {
	t.line("timers     end %s late, P99 %s: a send is late after %s", units.Time(c.Timer.P50), units.Time(c.Timer.P99), units.Time(c.LateAfter))
	t.line("loopback   a round trip of 64 B takes %s, P99 %s", units.Time(c.Loopback.P50), units.Time(c.Loopback.P99))
	t.line("ceiling    the generator reaches %s requests/s, at %s of CPU each", units.Number(c.Ceiling), units.Time(time.Duration(c.CeilingCPU)))
	if c.Timer.P99 > unfit {
		t.line("           waits that end so late say that something else keeps the machine busy")
	}
	rate := p.Rate
	if p.RateBytes {
		rate /= p.Sizes.Mean()
	}
	if c.Ceiling > 0 && rate > nearCeiling*c.Ceiling {
		t.line("           --rate asks for %s of that: expect the generator to be the limit", units.Percent(rate/c.Ceiling))
	}
}

// unfit is the error of timers from which on a machine is not one to measure
// latency on.
const unfit = 5 * time.Millisecond

// nearCeiling is the part of the ceiling from which on the generator may not
// keep a rate any more.
const nearCeiling = 0.8

// result prints all there is to say.
func (t loadPage) result(r *load.Result) {
	t.line("")
	if r.Interrupted && r.Measured <= 0 {
		t.line("INTERRUPTED within the warm-up: nothing was measured")
		return
	}
	if r.Interrupted {
		t.line("INTERRUPTED: what follows is of the %s that were measured until then", units.Time(r.Measured))
	}
	t.line("throughput %s of payload%s", units.Rate(r.Throughput), windowRange(r))
	t.line("requests   %s/s, %s answered in %s", units.Number(r.IOPS), units.Grouped(float64(r.Requests)), units.Time(r.Measured))
	if r.Errors > 0 {
		t.line("errors     %s, the first: %s", units.Grouped(float64(r.Errors)), oneLine(r.Error))
	}
	if r.Redials > 0 {
		t.line("redials    %s", units.Grouped(float64(r.Redials)))
	}
	t.line("")
	if !r.Valid {
		t.invalid(r)
	} else {
		t.latency(r)
	}
	if r.Requests == 0 {
		return // nothing to divide by
	}
	t.line("")
	t.use(r)
	switch {
	case r.Plan.Rate > 0 && r.Plan.Faults.Any():
		t.line("late       %s of the sends, by more than %s, which the faults have a part in", units.Percent(r.Late), units.Time(r.LateAfter))
	case r.Plan.Rate > 0:
		t.line("late       %s of the sends, by more than %s; up to 5 %% is valid", units.Percent(r.Late), units.Time(r.LateAfter))
	}
	t.line("busy       %s of the time of the generator's busiest thread", units.Percent(r.Busy))
}

// windowRange says how far the windows of the time series lie apart.
func windowRange(r *load.Result) string {
	if len(r.Series) < 2 {
		return ""
	}
	low, high := r.Series[0].Rate, r.Series[0].Rate
	for _, s := range r.Series {
		low, high = min(low, s.Rate), max(high, s.Rate)
	}
	return fmt.Sprintf("; windows of %s: %s to %s", units.Time(r.Plan.Windows.Throughput), units.Rate(low), units.Rate(high))
}

// latency prints the distributions side by side.
func (t loadPage) latency(r *load.Result) {
	open := r.Plan.Rate > 0
	if r.Latency == nil {
		return
	}
	columns := [][]string{{"latency", "p50", "p90", "p99", "p99.9", "max", "mean"}}
	add := func(title string, d *load.Distribution) {
		if d != nil {
			columns = append(columns, []string{title, units.Time(d.P50), units.Time(d.P90), units.Time(d.P99), units.Time(d.P999), units.Time(d.Max), units.Time(d.Mean)})
		}
	}
	if open {
		add("from the time due", r.Latency)
		add("service time", r.Service)
	} else {
		add("from the send", r.Latency)
	}
	t.table(columns)
	if from := doubtful(r.Late); open && from != "" && !r.Plan.Faults.Any() {
		t.line("%s of the sends were late by the generator's own doing: %s may be its figures and not the target's.", units.Percent(r.Late), from)
	}
	w := r.Plan.Windows
	if len(r.Jitters) > 0 {
		t.line("P99 jitter %s: standard deviation of the P99 of %s over %s, median of %s", units.Time(r.Jitter), units.Time(w.P99), units.Time(min(w.Jitter, r.Measured)), units.Plural(len(r.Jitters), "span"))
	} else {
		t.line("P99 jitter unknown: it takes several windows of %s", units.Time(w.P99))
	}
	if !open {
		t.line("A closed loop hides stalls: while the target stalls nothing is sent, so the requests that")
		t.line("would have waited are not in these figures. With --rate they are.")
	}
}

// doubtful names the figures that such a share of late sends can decide alone.
func doubtful(late float64) string {
	switch {
	case late >= 0.01:
		return "p99 and above"
	case late >= 0.001:
		return "p99.9 and max"
	}
	return ""
}

// table prints columns: the first to the left, the others to the right.
func (t loadPage) table(columns [][]string) {
	widths := make([]int, len(columns))
	for i, column := range columns {
		for _, cell := range column {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for row := range columns[0] {
		var b strings.Builder
		for i, column := range columns {
			pad := strings.Repeat(" ", widths[i]-len([]rune(column[row])))
			if i == 0 {
				b.WriteString(column[row] + pad)
			} else {
				b.WriteString("   " + pad + column[row])
			}
		}
		t.line("%s", strings.TrimRight(b.String(), " "))
	}
}

// invalid says why there is no latency, and what to try.
func (t loadPage) invalid(r *load.Result) {
	t.line("INVALID: there is no latency to show")
	for _, reason := range r.Reasons {
		t.line("  %s", oneLine(reason.Text))
		if try := advice[reason.Code]; try != "" {
			t.line("  try: %s", try)
		}
	}
	if q := r.Generator.Queued; q != nil && *q > r.Measured/crowded && r.Measured > 0 {
		t.line("  the generator's threads waited for a processor %s of the time: something else keeps the machine busy", units.Percent(float64(*q)/float64(r.Measured)))
	}
}

// crowded is the part of the time, as a divisor, from which on waiting for a
// processor is pointed out.
const crowded = 4

// advice is what to try, by why a run is invalid.
var advice = map[load.Code]string{
	load.TargetBehind:    "a lower --rate, more --conns or a greater --iodepth",
	load.GeneratorLate:   "a lower --rate, more --threads, or the generator on a processor or machine of its own",
	load.GeneratorFull:   "more --threads, a lower --rate, fewer --conns, or the generator on a processor or machine of its own",
	load.EndedEarly:      "a longer run, or a shorter --warmup",
	load.NothingAnswered: "a longer --duration, and whether --protocol is what the target speaks",
	load.TargetFailed:    "what the target logs; whether --protocol is what it speaks; --redial if it is to restart",
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
