package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// LoadHead says what a run does.
func LoadHead(p *load.Plan) []document.Item {
	head := p.Public().Target
	if p.Speaks() == string(p.Protocol) {
		head = string(p.Protocol) + " " + head
	}
	return []document.Item{document.Say(head + ": " + planText(p))}
}

func planText(p *load.Plan) string {
	text := units.Plural(p.Conns, "connection")
	if p.HasSizes() {
		text += ", " + sizesText(p.Sizes)
	}
	return text + ", " + rateText(p)
}

func sizesText(s load.Sizes) string {
	from, to := units.Bytes(s.Min), units.Bytes(s.Max)
	if s.Min == s.Max {
		return from
	}
	return from + " to " + to
}

func rateText(p *load.Plan) string {
	depth := units.Plural(p.Depth, "request") + " under way on each"
	if p.Rate == 0 {
		return "closed loop, " + depth
	}
	return "open loop, " + units.Number(p.Rate) + " requests/s, at most " + depth
}

const (
	// unfit is the error of timers from which on a machine is not one to measure
	// latency on.
	unfit = 5 * time.Millisecond
	// crowded is the part of the time, as a divisor, from which on waiting for a
	// processor is pointed out.
	crowded = 4
	// stall is so long without an answer that it is pointed out, shortStall where that is not the machine's doing.
	// slowConnecting is so long that it is pointed out: a SYN that a full queue drops is sent again after a second.
	slowConnecting    = time.Second
	stall, shortStall = 500 * time.Millisecond, 250 * time.Millisecond
)

func leastStall(r *load.Result) time.Duration {
	if r.GapCrowded != nil && *r.GapCrowded <= mostBesideStall {
		return shortStall
	}
	return stall
}

// LoadCalibration says what was found out before a run.
func LoadCalibration(c *load.Calibration) []document.Item {
	f := &document.Facts{}
	f.Add("timers", fmt.Sprintf("end %s late, P99 %s: a send is late after %s", units.Time(c.Timer.P50), units.Time(c.Timer.P99), units.Time(c.LateAfter)))
	items := []document.Item{f}
	if c.Timer.P99 > unfit {
		items = append(items, document.Note("Waits that end so late say that something else keeps the machine busy."))
	}
	return items
}

// LoadResult is all that is said of a run, its plan and its calibration aside.
func LoadResult(r *load.Result) []document.Item {
	if r.Interrupted && r.Measured <= 0 {
		return []document.Item{document.Fault("INTERRUPTED", "within the warm-up: nothing was measured")}
	}
	var items []document.Item
	add := func(list ...document.Item) { items = append(items, list...) }
	if r.Interrupted {
		add(document.Fault("INTERRUPTED", "what follows is of the "+units.Time(r.Measured)+" that were measured until then"))
	}
	f := &document.Facts{}
	f.Add("throughput", units.Rate(r.Throughput)+" of payload"+windowRange(r))
	f.Add("requests", fmt.Sprintf("%s/s, %s answered in %s", units.Number(r.IOPS), units.Count(r.Requests), units.Time(r.Measured)))
	if r.Connecting >= slowConnecting {
		f.Add("connecting", "took "+units.Time(r.Connecting)+", which is in no other figure: the target accepts slowly, or its queue of connections is short")
	}
	if len(r.Replies) > 0 {
		f.Add("replies", repliesText(r))
	}
	if r.Errors > 0 {
		text := units.Count(r.Errors)
		if r.Plan.Redial { // otherwise it is why the run is invalid
			text += ", the first: " + r.Error
		}
		f.Add("errors", text)
	}
	if r.Lost > 0 {
		f.Add("lost", units.Plural(r.Lost, "request")+" ("+units.Percent(r.FailedShare())+" failed in all; up to 5 % is valid); counted with the time until the connection ended")
	}
	if r.Redials > 0 {
		text := units.Count(r.Redials)
		if r.Resent > 0 {
			text += "; " + units.Plural(r.Resent, "request") + " sent again, since the connection ended before the reply"
		}
		f.Add("redials", text)
	}
	if r.Plan.Rate > 0 && r.Requests > 0 {
		f.Add("late", units.Percent(r.Late)+" of the sends, by more than "+units.Time(r.LateAfter)+"; up to 5 % is valid")
	}
	if r.Requests > 0 {
		f.Add("busy", units.Percent(r.Busy)+" of the time of the generator's busiest thread")
		f.Add("generator", useText(&r.Generator, r))
		if r.Target != nil {
			f.Add("target", useText(r.Target, r))
		}
	}
	add(f)
	if r.Valid {
		add(latency(r)...)
	} else {
		add(invalid(r)...)
	}
	return items
}

func useText(u *load.Use, r *load.Result) string {
	var list []string
	if u.CPUPerOp > 0 {
		list = append(list, units.Nanoseconds(u.CPUPerOp)+" of CPU a request")
	}
	if u.Queued != nil && r.Measured > 0 {
		// The sum over its threads, which may be more than the time.
		list = append(list, "waited for a CPU "+units.Number(u.Queued.Seconds()/r.Measured.Seconds())+" s each second, all threads together")
	}
	if u.Resident > 0 {
		list = append(list, units.Bytes(u.Resident)+" resident")
	}
	return strings.Join(list, ", ")
}

func repliesText(r *load.Result) string {
	var list []string
	for _, c := range r.Replies {
		text := c.Class + " " + units.Count(c.Count)
		if c.Failed {
			text += " (" + units.Percent(float64(c.Count)/float64(max(1, r.Requests))) + ")"
		}
		list = append(list, text)
	}
	if r.Failure != "" {
		list = append(list, "the first failure: "+document.Clip(r.Failure, 200))
	}
	return strings.Join(list, ", ")
}

func windowRange(r *load.Result) string {
	if len(r.Series) < 2 {
		return ""
	}
	byRate := func(a, b load.Second) int { return cmp.Compare(a.Rate, b.Rate) }
	return fmt.Sprintf("; by the second %s to %s", units.Rate(slices.MinFunc(r.Series, byRate).Rate), units.Rate(slices.MaxFunc(r.Series, byRate).Rate))
}

func latency(r *load.Result) []document.Item {
	if r.Latency == nil {
		return nil
	}
	open := r.Plan.Rate > 0
	t := &document.Table{Columns: document.Columns("latency", "P50", "P90", "P99", "P99.9", "max", "mean", "min")}
	add := func(title string, d *load.Distribution) {
		if d != nil {
			t.Add(title, units.Time(d.P50), units.Time(d.P90), units.Time(d.P99), units.Time(d.P999), units.Time(d.Max), units.Time(d.Mean), units.Time(d.Min))
		}
	}
	if open {
		add("from the time due", r.Latency)
		add("service time", r.Service)
	} else {
		add("from the send", r.Latency)
	}
	items := []document.Item{t}
	if r.Jitter > 0 {
		items = append(items, document.Say(fmt.Sprintf("The P99 has a jitter of %s: its standard deviation over windows of %s.", units.Time(r.Jitter), units.Time(load.JitterEvery(&r.Plan)))))
	}
	if from := doubtful(r.Late); open && from != "" {
		items = append(items, document.Say(fmt.Sprintf("%s of the sends were late by the generator's own doing: %s may be its figures and not the target's.", units.Percent(r.Late), from)))
	}
	if r.Gap >= max(leastStall(r), floorTimes*r.Latency.P50) {
		items = append(items, document.Fault("STALL", "nothing was answered for "+units.Time(r.Gap)))
	}
	if !open {
		items = append(items, document.Note("A closed loop hides stalls: while the target stalls nothing is sent, so the requests that would have waited are not in these figures. With --rate they are."))
	}
	return items
}

// doubtful names the figures that such a share of late sends can decide alone.
func doubtful(late float64) string {
	switch {
	case late >= 0.01:
		return "P99 and above"
	case late >= 0.001:
		return "P99.9 and max"
	}
	return ""
}

var advice = map[load.Code]string{
	load.TargetBehind:    "a lower --rate, more --conns or a greater --iodepth",
	load.RepliesFailed:   "what the target logs; whether the requests are what it wants",
	load.GeneratorLate:   "a lower --rate, more --threads, or the generator on a processor or machine of its own",
	load.GeneratorFull:   "more --threads, a lower --rate, fewer --conns, or the generator on a processor or machine of its own",
	load.EndedEarly:      "a longer run, or a shorter --warmup",
	load.NothingAnswered: "a longer --duration; whether the target speaks the protocol that was asked for",
	load.TargetFailed:    "what the target logs; whether it speaks the protocol that was asked for; --redial if it is to restart (not with HTTP/2)",
}

func invalid(r *load.Result) []document.Item {
	items := []document.Item{document.Fault("INVALID", "there is no latency to show")}
	for _, reason := range r.Reasons {
		items = append(items, &document.Para{Mark: " ", Text: reason.Text})
		if try := advice[reason.Code]; try != "" {
			items = append(items, &document.Para{Mark: "  try:", MarkStyle: document.Bold, Text: try})
		}
	}
	if len(r.Reasons) == 0 {
		items = append(items, document.Note("The file gives no reason."))
	}
	slow := func(reason load.Reason) bool {
		return reason.Code == load.TargetBehind || reason.Code == load.GeneratorLate || reason.Code == load.GeneratorFull
	}
	if q := r.Generator.Queued; q != nil && *q > r.Measured/crowded && r.Measured > 0 && slices.ContainsFunc(r.Reasons, slow) {
		items = append(items, &document.Para{Mark: " ", Text: fmt.Sprintf("the generator's threads waited for a processor %s s each second, all together: the target or something else keeps the machine busy", units.Number(q.Seconds()/r.Measured.Seconds()))})
	}
	return items
}

func loadSection(section *document.Section, r *load.Result) *document.Section {
	section.Add(LoadHead(&r.Plan)...)
	section.Add(LoadResult(r)...)
	section.Add(loadCharts(r)...)
	if r.Calibration != nil {
		section.Add(&document.Section{Title: "Calibration", Level: 3, Items: LoadCalibration(r.Calibration)})
	}
	return section
}

// Pair is what came of two targets under the same load.
func Pair(p *load.Pair) []document.Item {
	t := &document.Table{Columns: document.Columns("figure", "ratio", "95 %", "verdict")}
	t.Columns[3].Left = true
	row := func(name string, c *stats.Comparison, verdict document.Cell) {
		if c == nil {
			return
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: name}, barCell(&c.Interval), rangeCell(&c.Interval), verdict}})
	}
	row("P50", &p.Median, pairVerdict(p))
	row("P99", p.Tail, document.Cell{Text: "not judged", Style: document.Dim})
	row("requests/s", p.Requests, document.Cell{Text: "not judged", Style: document.Dim})
	text := fmt.Sprintf("%s to %s, %s", p.Targets[1], p.Targets[0], units.Plural(p.Rounds, "round"))
	if p.Invalid > 0 {
		text += fmt.Sprintf("; %d left out as invalid", p.Invalid)
	}
	return []document.Item{document.Say(text), t}
}

// Step says what came of one rate that a search tried.
func Step(s load.Step) document.Item {
	return &document.Para{Mark: fmt.Sprintf("%10s/s  %9s", units.Number(s.Rate), stepLatency(s)), Text: outcome(s)}
}

func stepLatency(s load.Step) string {
	if s.Latency == 0 { // the run was invalid
		return "–"
	}
	return units.Time(s.Latency)
}

func outcome(s load.Step) string {
	switch {
	case s.Holds:
		return "holds"
	case len(s.Reasons) > 0:
		return load.Texts(s.Reasons)
	}
	return "exceeded"
}

// FoundText says what a search came to.
func FoundText(f *load.Found) string {
	text := fmt.Sprintf("P%g within %s holds ", f.Limit.Quantile*100, units.Time(f.Limit.Latency))
	held := 0.0
	for _, s := range f.Steps {
		if s.Holds {
			held = max(held, s.Rate)
		}
	}
	switch {
	case f.Rate > 0:
		text += "up to " + units.Number(f.Rate) + " requests/s"
	case held > 0:
		text += "once at " + units.Number(held) + " requests/s; the search did not come to an end"
	default:
		text += "at no rate that was tried"
	}
	switch {
	case f.Generator && f.Rate == 0:
		text += "; the generator was the limit: something keeps the machine busy"
	case f.Generator:
		text += "; above that the generator was the limit: the target may be able to do more"
	}
	return text
}

func searchItems(f *load.Found) []document.Item {
	t := &document.Table{Columns: document.Columns("requests/s", "latency", "outcome")}
	t.Columns[2].Left = true
	for _, s := range f.Steps {
		t.Add(units.Number(s.Rate), stepLatency(s), outcome(s))
	}
	return []document.Item{document.Say(FoundText(f)), t}
}

func pairVerdict(p *load.Pair) document.Cell {
	return document.Cell{Text: string(p.Median.Verdict), Style: styleOf(p.Median.Verdict)}
}
