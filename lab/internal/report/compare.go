package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	moremath "github.com/aclements/go-moremath/stats"

	"github.com/sluice-go/sluice/lab/internal/document"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/stats"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// ErrNotComparable is a pair of results of which nothing follows: they are of
// different kinds, machines or plans, or one has no valid figures.
var ErrNotComparable = errors.New("cannot be compared")

const (
	// LeastRatio is the default for how much a ratio to the baseline of the same run, in
	// which the machine's speed cancels, must differ to count.
	LeastRatio = stats.AtLeast
	// LeastFigure is that for figures as they are, whose machine may have been slower
	// this time.
	LeastFigure = 0.45
	// fewWindows is how many values a run's windows are put together to: those
	// next to each other resemble each other, and would make an interval too narrow.
	fewWindows = 20
)

// Rule says in words how verdicts come about.
const Rule = "A figure counts as different when its interval leaves 1 outside, at a chance of one in 200 for all rows of a kind together that one of them is a false alarm, " +
	"and when it is away from 1 by the least that counts and stands out from what most rows do; with too few values for such an interval by twice that, and a wide gap. Fewer than six values decide nothing. " +
	"A single value on each side has no interval: it counts from twice the least on. Where other programs kept generator or target from a processor for over 5 % of the slower run, its figures are undecided, unless it was so in the other run as well and they differ by 1.8 times, tails by ten times. " +
	"A regression is a judged figure that became worse."

// Options say how to compare.
type Options struct {
	// AtLeast is the least relative difference that counts, 0.1 for 10 %; 0 for
	// LeastRatio or LeastFigure.
	AtLeast float64
	// Force compares results of different machines and plans all the same.
	Force bool
}

// A Verdict is what became of a figure. The texts are for the JSON.
type Verdict string

const (
	NotJudged Verdict = ""
	Same      Verdict = "~"
	Better    Verdict = "better"
	Worse     Verdict = "worse"
	Unsure    Verdict = "undecided" // too few values
)

// A Comparison is what became of every figure that two results share.
type Comparison struct {
	Kind        string               `json:"kind"` // comparison
	Of          string               `json:"of"`   // the results' kind
	Old         string               `json:"old"`  // names
	New         string               `json:"new"`
	AtLeast     float64              `json:"at_least"`
	Rule        string               `json:"rule"`
	Doubts      []string             `json:"doubts,omitempty"` // why they should not have been compared
	Notes       []string             `json:"notes,omitempty"`
	Changes     []Change             `json:"changes"`
	Regressions int                  `json:"regressions"`
	Better      int                  `json:"better"`
	Judged      int                  `json:"judged"`
	Undecided   int                  `json:"undecided"` // beside those that are judged
	Machine     []machine.Difference `json:"machine,omitempty"`

	given bool // AtLeast was
}

// A Change is one figure: the later result's sample, and what it was.
type Change struct {
	Item string `json:"item"` // "framing/good next"
	Sample
	Old     float64         `json:"old"` // of one window, the median of those of the later run
	New     float64         `json:"new"`
	Ratio   *stats.Interval `json:"ratio,omitempty"` // new to old; nil for single values
	Judged  bool            `json:"judged"`          // it counts; others are there to look at
	Verdict Verdict         `json:"verdict"`
	Doubt   string          `json:"doubt,omitempty"` // why a difference is undecided

	was            float64 // Crowded of the earlier run
	earlier, later []float64
	rounds         []float64 // later, as if a round had as many operations as an earlier one
	whole          bool      // Old and New are of the whole runs, and have to differ too
	window         bool      // of one window, outlier says whether it counts
	outlier        bool
	failed         bool // the later result has none
}

// Compare sets a later result against an earlier one. The error is
// ErrNotComparable, or ErrSchema for figures that no run can have.
func Compare(earlier, later *Result, o Options) (c *Comparison, err error) {
	err = guarded(func() error {
		c, err = compare(earlier, later, o)
		return err
	})
	return c, err
}

func compare(earlier, later *Result, o Options) (*Comparison, error) {
	c := &Comparison{Kind: "comparison", Of: later.Kind, Old: earlier.Name, New: later.Name, AtLeast: o.AtLeast, Rule: Rule, given: o.AtLeast > 0}
	if c.AtLeast == 0 {
		if c.AtLeast = LeastFigure; later.Kind == KindBench {
			c.AtLeast = LeastRatio
		}
	}
	err := c.comparable(earlier, later)
	if err == nil && len(c.Doubts) > 0 && !o.Force {
		err = fmt.Errorf("%s and %s %w: %s", earlier.Name, later.Name, ErrNotComparable, strings.Join(c.Doubts, "; "))
	}
	if err == nil {
		c.pair(earlier.Groups(), later.Groups())
		if len(c.Changes) == 0 {
			err = fmt.Errorf("%s and %s have nothing in common: they %w", earlier.Name, later.Name, ErrNotComparable)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	c.judge()
	return c, nil
}

func (c *Comparison) comparable(earlier, later *Result) error {
	switch {
	case earlier.Kind != later.Kind:
		return fmt.Errorf("%s is of %s, %s of %s: they %w", earlier.Name, earlier.Kind, later.Name, later.Kind, ErrNotComparable)
	case later.Bench == nil && later.Load == nil:
		return fmt.Errorf("two results of %s %w: only bench and load have figures for that", later.Kind, ErrNotComparable)
	}
	c.Machine = machine.Differences(earlier.Origin().Machine, later.Origin().Machine)
	for _, d := range c.Machine {
		text := fmt.Sprintf("%s was %s, is %s", d.Name, d.A, d.B)
		if d.Weighs {
			c.Doubts = append(c.Doubts, "another machine: "+text)
		} else {
			c.Notes = append(c.Notes, text)
		}
	}
	differ := func(what string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			c.Doubts = append(c.Doubts, fmt.Sprintf("another plan: %s was %s, is %s", what, document.Clip(fmt.Sprint(a), 100), document.Clip(fmt.Sprint(b), 100)))
		}
	}
	switch {
	case later.Bench != nil:
		differ("the mode", earlier.Bench.Mode, later.Bench.Mode)
		differ("the seed", earlier.Bench.Seed, later.Bench.Seed)
	case later.Load != nil:
		for name, r := range map[string]*load.Result{c.Old: earlier.Load, c.New: later.Load} {
			if !r.Valid {
				return fmt.Errorf("%s is invalid (%s): it %w", name, load.Texts(r.Reasons), ErrNotComparable)
			}
		}
		// Where the target listens, how long it took and the seed do not matter.
		a, b := &earlier.Load.Plan, &later.Load.Plan
		differ("the protocol", a.Speaks(), b.Speaks())
		differ("what requests are", jsonText(a.Requests.Public()), jsonText(b.Requests.Public()))
		differ("the number of connections", a.Conns, b.Conns)
		differ("the requests under way on each", a.Depth, b.Depth)
		differ("the size", sizesText(a.Sizes), sizesText(b.Sizes))
		differ("the rate", rateText(a), rateText(b))
		differ("the verifying", a.Verify, b.Verify)
		differ("the engine", a.Engine, b.Engine)
		differ("the threads", max(1, a.Threads), max(1, b.Threads))
	}
	return nil
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// pair finds what both have. A thing that has only a fault now is a regression.
func (c *Comparison) pair(earlier, later []Group) {
	now := map[string]*Group{}
	for i := range later {
		now[later[i].Item] = &later[i]
	}
	var gone []string
	for i := range earlier {
		was := &earlier[i]
		is := now[was.Item]
		scenario, _, _ := strings.Cut(was.Item, " ")
		if is == nil {
			is = now[scenario] // a scenario that failed has no variants
		}
		switch {
		case len(was.Samples) == 0:
		case is == nil || is.Skipped:
			gone = append(gone, was.Item)
		case len(is.Samples) == 0:
			if len(c.Changes) == 0 || c.Changes[len(c.Changes)-1].Item != is.Item {
				c.Changes = append(c.Changes, Change{Item: is.Item, Sample: Sample{Figure: "it failed", Note: is.Fault}, Judged: true, failed: true})
			}
		default:
			c.samples(was, is)
		}
	}
	if len(gone) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("not in %s: %s", c.New, document.Clip(strings.Join(gone, ", "), 300)))
	}
}

func (c *Comparison) samples(was, is *Group) {
	seldom := slices.ContainsFunc(is.Samples, func(s Sample) bool {
		return s.Unit == lab.AllocsPerOp && len(s.Values) > 0 && stats.Median(s.Values) < 1
	})
	for _, a := range was.Samples {
		for _, b := range is.Samples {
			if a.Figure != b.Figure || a.Unit != b.Unit || b.Role == Raw || len(a.Values) == 0 || len(b.Values) == 0 {
				continue
			}
			if slices.Min(a.Values) < 0 || slices.Min(b.Values) < 0 {
				continue // a difference, of which there is no ratio
			}
			ch := Change{Item: is.Item, Sample: b, Judged: b.Role == Judged, was: a.Crowded, earlier: blocks(resolved(a)), later: blocks(resolved(b))}
			if ch.Old, ch.New = stats.Median(ch.earlier), stats.Median(ch.later); b.Family == Counted && seldom {
				for _, v := range b.Values {
					ch.rounds = append(ch.rounds, v*float64(is.N)/float64(was.N))
				}
			}
			if ch.whole = a.Whole > 0 && b.Whole > 0; ch.whole {
				ch.Old, ch.New = a.Whole, b.Whole
			}
			c.Changes = append(c.Changes, ch)
			if b.Windows {
				c.Changes = append(c.Changes, window(ch, a.Values, b.Values))
			}
		}
	}
}

func window(ch Change, earlier, later []float64) Change {
	ch.earlier, ch.later, ch.window = earlier, later, true
	at, out := stats.Outlier(earlier, later, !ch.More, leastWindow)
	ch.Figure += " in one window"
	ch.Old, ch.New, ch.outlier = stats.Median(later), later[at], out
	if at < len(ch.Crowds) {
		ch.Crowded = ch.Crowds[at]
	}
	ch.Note = fmt.Sprintf("window %d of %d: the ratio is to the median of the new run's, %s", at+1, len(later), units.Figure(ch.Old, ch.Unit))
	return ch
}

// leastWindow is the factor by which a window has to be away from its run's median.
const leastWindow = 1.7

// floorTimes is how many times what it was a figure with a floor has to be.
const floorTimes = 3

// resolved rounds what is counted to the step below which the runtime's own
// doings show.
func resolved(s Sample) []float64 {
	step := resolution[s.Unit]
	if step == 0 {
		return s.Values
	}
	list := make([]float64, len(s.Values))
	for i, v := range s.Values {
		list[i] = math.Round(v/step) * step
	}
	return list
}

// blocks takes the means of neighbours until few are left, of many.
func blocks(values []float64) []float64 {
	every := len(values) / fewWindows
	if every <= 1 {
		return values
	}
	var list []float64
	for part := range slices.Chunk(values, every) {
		list = append(list, moremath.Mean(part))
	}
	return list
}

// judge gives every figure its interval and, where it counts, its verdict. The
// more there are, the surer each has to be, and it has to stand out from what the
// other figures do: two runs of one program differ by where the system put them.
func (c *Comparison) judge() {
	among, logs := map[Family]int{}, map[Family][]float64{}
	for i := range c.Changes {
		ch := &c.Changes[i]
		if ch.Judged && len(ch.earlier) > 0 && !ch.enough() {
			ch.Verdict, ch.Doubt = Unsure, "too few values"
			c.Undecided++
		}
		if !ch.Judged || ch.Verdict == Unsure {
			continue
		}
		c.Judged++
		among[ch.Family]++
		if ch.Old > 0 && ch.New > 0 && !ch.window {
			logs[ch.Family] = append(logs[ch.Family], math.Abs(math.Log(ch.New/ch.Old)))
		}
	}
	for i := range c.Changes {
		ch := &c.Changes[i]
		if ch.failed {
			ch.Verdict = Worse
			c.Regressions++
			continue
		}
		n := max(1, among[ch.Family])
		least := c.AtLeast
		if ch.Least > 0 && !c.given {
			least = ch.Least
		}
		verdict := stats.Same
		switch {
		case ch.window && !ch.outlier:
		case ch.window && ch.More:
			verdict = stats.Less
		case ch.window, ch.Floor > 0 && ch.New >= ch.Floor && ch.New >= floorTimes*ch.Old:
			verdict = stats.More
		case ch.Floor > 0:
		case len(ch.earlier) == 1 && len(ch.later) == 1:
			verdict = single(ch.Old, ch.New, 2*least)
		default:
			r := stats.CompareRuns(ch.earlier, ch.later, max(least, ch.Family.scatter(logs[ch.Family])), n)
			verdict = r.Verdict
			// A pool that is filled once a round allocates the less for an operation the more there are.
			if ch.whole && single(ch.Old, ch.New, least) != verdict || ch.rounds != nil && stats.CompareRuns(ch.earlier, ch.rounds, least, n).Verdict != verdict {
				verdict = stats.Same
			}
			if r.Hi < math.MaxFloat64 && r.Median < math.MaxFloat64 {
				ch.Ratio = &r.Interval
			}
		}
		if !ch.Judged || ch.Verdict == Unsure {
			continue
		}
		better := (verdict == stats.More) == ch.More
		switch {
		case verdict == stats.Same:
			ch.Verdict = Same
		case ch.crowd(better) > fair:
			ch.Verdict, ch.Doubt = Unsure, fmt.Sprintf("others kept generator or target from a processor for %s of the time: this may be the machine's doing", units.Percent(min(1, ch.crowd(better))))
			c.Judged--
			c.Undecided++
		case better:
			ch.Verdict = Better
			c.Better++
		default:
			ch.Verdict = Worse
			c.Regressions++
		}
	}
}

const (
	// fair is the part of the time for which a processor may be missing. P99.9 of one program was 6 ms at 5 %, 14 to 32 ms at 17 %.
	fair = 0.05
	// alike is the factor up to which two runs were crowded alike. Those of one program, at 60 to 130 %, had rates up to
	// 1.5 times as high as others, and a P99.9 of 1.8 to 11 ms.
	alike, apart, tailsApart = 1.25, 1.8, 10
	// cpuApart: the CPU of a request was 29 to 80 µs, the less the more crowded, since more of them were waiting at each wake-up.
	cpuApart = 3
)

// crowd is for which part of the slower run a processor was missing, unless that cannot be why.
func (ch *Change) crowd(better bool) float64 {
	slower, other := ch.Crowded, ch.was
	if cpu := ch.Unit == targetCPU; cpu && other > slower || !cpu && better {
		slower, other = other, slower
	}
	if !ch.window && slower < alike*other && single(ch.Old, ch.New, ch.Apart-1) != stats.Same {
		return 0
	}
	return slower
}

// enough reports whether there are values for a verdict: one on each side, or as many as
// stats.Fewest on both.
func (ch *Change) enough() bool {
	a, b := len(ch.earlier), len(ch.later)
	return a == 1 && b == 1 || min(a, b) >= stats.Fewest
}

// scatter is how far a figure of a family has to be away for standing out from many
// others, most of which are the same: some times their median difference, and more of
// them the more there are, since the tails are long.
func (f Family) scatter(logs []float64) float64 {
	const few, times = 8, 4
	if f != Timed || len(logs) < few {
		return 0
	}
	return math.Expm1(times * (1 + math.Log(float64(len(logs)))/2) * stats.Median(logs))
}

func single(before, after, least float64) stats.Verdict {
	switch {
	case before == after:
		return stats.Same
	case math.Abs(math.Log(after)-math.Log(before)) < math.Log1p(least):
		return stats.Same
	case after < before:
		return stats.Less
	}
	return stats.More
}

// Items is the comparison for people: what is judged, and of what is counted only
// that which changed.
func (c *Comparison) Items() []document.Item {
	items := []document.Item{
		document.Say(fmt.Sprintf("old %s, new %s: ratios are new to old", c.Old, c.New)),
		document.Note("~ is no difference beyond noise; at least " + c.leasts() + ", and surer the more figures there are"),
	}
	for _, d := range c.Doubts {
		items = append(items, document.Fault("COMPARED ALL THE SAME", d))
	}
	t := &document.Table{Class: "compare", Columns: document.Columns("what", "figure", "old", "new", "ratio", "95 %", "verdict")}
	t.Columns[1].Left, t.Columns[6].Left, t.Columns[5].Keep = true, true, false
	hidden := 0
	for i := range c.Changes {
		ch := &c.Changes[i]
		if ch.Family == Counted && (ch.Verdict == Same || ch.Old == ch.New) || len(t.Rows) >= mostBeside {
			hidden++
			continue
		}
		t.Rows = append(t.Rows, ch.row())
	}
	items = append(items, t)
	if hidden > 0 {
		items = append(items, document.Note(units.Plural(hidden, "counted figure")+" without a difference not shown; --json has them"))
	}
	for _, n := range c.Notes {
		items = append(items, &document.Para{Mark: "note", MarkStyle: document.Dim, Text: n})
	}
	judged := fmt.Sprintf("%s judged: %d worse, %d better, %d ~", units.Plural(c.Judged, "figure"), c.Regressions, c.Better, c.Judged-c.Regressions-c.Better)
	if c.Undecided > 0 {
		judged += fmt.Sprintf("; %d undecided", c.Undecided)
	}
	return append(items, document.Say(judged),
		&document.Fold{Title: "What counts as a difference", Items: []document.Item{document.Say(c.Rule)}})
}

// leasts says by how much figures have to differ, and names those for which it is another number than for all.
func (c *Comparison) leasts() string {
	text := fmt.Sprintf("%.3g %%", c.AtLeast*100)
	var apart []float64
	of := map[float64][]string{}
	for i := range c.Changes {
		ch := &c.Changes[i]
		if ch.Least == 0 || ch.Least == c.AtLeast || c.given || !ch.Judged || ch.window || slices.Contains(of[ch.Least], ch.Figure) {
			continue
		}
		if of[ch.Least] == nil {
			apart = append(apart, ch.Least)
		}
		of[ch.Least] = append(of[ch.Least], ch.Figure)
	}
	for _, least := range apart {
		text += fmt.Sprintf(", of %s %.3g %%", strings.Join(of[least], ", "), least*100)
	}
	return text
}

const mostBeside = 2_000

func (ch *Change) row() document.Row {
	row := document.Row{Cells: []document.Cell{{Text: document.Clip(ch.Item, 48)}, {Text: document.Clip(ch.Figure, 32), About: ch.Note}, {Text: "–"}, {Text: "–"}, {Text: "–"}, {}, {Text: "not judged", Style: document.Dim}}}
	if ch.failed {
		row.Under = []string{ch.Note}
	} else {
		text := func(v float64) string {
			if ch.Unit == ratioUnit {
				return units.Ratio(v)
			}
			return units.Figure(v, ch.Unit)
		}
		row.Cells[2].Text, row.Cells[3].Text = text(ch.Old), text(ch.New)
		if ch.window {
			row.Cells[2].Text = "–"
		}
		if ch.outlier {
			row.Under = []string{ch.Note}
		}
		switch {
		case ch.whole && ch.Ratio != nil && ch.Old > 0:
			row.Cells[4].Text, row.Cells[5] = units.Ratio(ch.New/ch.Old), rangeCell(ch.Ratio)
			if ch.Verdict == Same && single(ch.Old, ch.New, ch.Least) != stats.Same {
				row.Under = []string{"the interval is that of windows: what differs is in few of them"}
				if ch.Ratio.Lo > 1 || ch.Ratio.Hi < 1 {
					row.Under = []string{"the windows do not differ by so much, or not surely enough: a longer run says more"}
				}
			}
		case ch.Ratio != nil:
			row.Cells[4], row.Cells[5] = barCell(ch.Ratio), rangeCell(ch.Ratio)
		case ch.Old > 0:
			row.Cells[4].Text = units.Ratio(ch.New / ch.Old)
		case ch.New == 0:
			row.Cells[4].Text = "1"
		}
	}
	if ch.Doubt != "" {
		row.Under = append(row.Under, ch.Doubt)
	}
	if ch.Verdict != NotJudged {
		row.Cells[6] = document.Cell{Text: string(ch.Verdict), Style: styleOf(ch.Verdict)}
	}
	if ch.Verdict == Worse {
		row.Cells[6].Text = "WORSE"
	}
	return row
}
