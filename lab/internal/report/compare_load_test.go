package report

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/units"
	"github.com/sluice-go/sluice/sluicetest"
)

// A simulated run of load: 20 s, with the scatter of a shared machine between windows and
// between runs, and now and then a window that something disturbed.
type simulated struct {
	r      *rand.Rand
	closed bool
}

// run makes one; fault changes a window, and the windows that it is called for are all or
// one.
func (s *simulated) run(fault func(w *load.DueWindow, requests *float64)) *load.Result {
	return s.runWith(fault, -1, false)
}

func (s *simulated) runWith(fault func(w *load.DueWindow, requests *float64), only int, stalls bool) *load.Result {
	const windows = 20
	noise := func(sd float64) float64 { return math.Exp(sd * s.r.NormFloat64()) }
	plan := load.Default()
	plan.Rate, plan.Duration = 20_000, windows*time.Second
	speed := noise(0.06)
	if s.closed {
		plan.Rate = 0
	}
	r := &load.Result{Origin: machine.Origin{Kind: load.Kind, Schema: load.Schema}, Gap: 200 * time.Millisecond, Valid: true, Plan: plan, Measured: plan.Duration}
	var p50, p99, p999 []float64
	stallAt := -1
	if stalls {
		stallAt = 1 + s.r.IntN(windows-2)
	}
	for i := range windows {
		at := time.Duration(i+1) * time.Second
		w := load.DueWindow{
			At: at, Count: 20_000, P50: time.Duration(100e3 * speed * noise(0.03)), P99: time.Duration(400e3 * speed * noise(0.06)),
			P999: time.Duration(900e3 * speed * noise(0.1)),
		}
		if s.r.IntN(100) == 0 {
			w.P999 = time.Duration(float64(w.P999) * 1.4)
		}
		requests := 20_000.0
		if s.closed {
			requests *= noise(0.03) / speed
		}
		if fault != nil && (only < 0 || i == only) {
			fault(&w, &requests)
		}
		if i == stallAt {
			w.P99, w.P999, r.Gap = 990*time.Millisecond, time.Second, time.Second
		}
		w.Max = 2 * w.P999
		r.Due = append(r.Due, w)
		r.Series = append(r.Series, load.Second{At: at, Requests: uint64(requests), Rate: requests * 128})
		p50, p99, p999 = append(p50, float64(w.P50)), append(p99, float64(w.P99)), append(p999, float64(w.P999))
	}
	mean := func(list []float64) time.Duration {
		sum := 0.0
		for _, v := range list {
			sum += v / float64(len(list))
		}
		return time.Duration(sum)
	}
	r.Latency = &load.Distribution{Count: 400_000, P50: mean(p50), P90: 2 * mean(p50), P99: mean(p99), P999: mean(p999), Max: 2 * time.Duration(slices.Max(p999))}
	return r
}

func compareLoads(t *testing.T, a, b *load.Result) *Comparison {
	t.Helper()
	return mustCompare(t, &Result{Name: "a", Kind: KindLoad, Load: a}, &Result{Name: "b", Kind: KindLoad, Load: b}, Options{})
}

// The same program twice, in 2,000 tries of each model.
func TestTheSameLoadTwiceIsNoDifference(t *testing.T) {
	for name, closed := range map[string]bool{"open": false, "closed": true} {
		s := &simulated{rand.New(rand.NewPCG(sluicetest.Seed(t), 7)), closed}
		const tries = 2000
		same := 0
		for range tries {
			c := compareLoads(t, s.run(nil), s.run(nil))
			if c.Regressions+c.Better == 0 {
				same++
			}
		}
		t.Logf("%s: no difference in %d of %d tries", name, same, tries)
		if same < tries*99/100 {
			t.Errorf("%s: no difference in %d of %d tries", name, same, tries)
		}
	}
}

// What happened is found and named, in all windows or in one of them.
func TestWhatALoadHasBecomeIsFound(t *testing.T) {
	tail := func(w *load.DueWindow, _ *float64) { w.P999 *= 2 }
	for _, c := range []struct {
		name         string
		closed, once bool
		stall        bool
		fault        func(w *load.DueWindow, requests *float64)
		figure       string // that is named
	}{
		{"a second without an answer", false, false, true, nil, "longest time without an answer"},
		{"a second without an answer, closed", true, false, true, nil, "longest time without an answer"},
		{"the P99.9 doubles", false, false, false, tail, "P99.9"},
		{"the P99.9 of a window doubles", false, true, false, tail, "P99.9 in one window"},
		{"5 % are not served", false, false, false, func(_ *load.DueWindow, n *float64) { *n *= 0.95 }, "requests"},
		{"45 % are not served in a window", false, true, false, func(_ *load.DueWindow, n *float64) { *n *= 0.55 }, "requests in one window"},
		{"half as fast", true, false, false, func(_ *load.DueWindow, n *float64) { *n *= 0.5 }, "requests"},
		{"half as fast in a window", true, true, false, func(_ *load.DueWindow, n *float64) { *n *= 0.5 }, "requests in one window"},
	} {
		s := &simulated{rand.New(rand.NewPCG(sluicetest.Seed(t), 8)), c.closed}
		const tries = 200
		found := 0
		for range tries {
			only := -1
			if c.once {
				only = s.r.IntN(20)
			}
			got := compareLoads(t, s.run(nil), s.runWith(c.fault, only, c.stall))
			var worse []string
			for _, ch := range got.Changes {
				if ch.Verdict == Worse {
					worse = append(worse, ch.Figure)
				}
			}
			if slices.Contains(worse, c.figure) {
				found++
			}
		}
		t.Logf("%s: found in %d of %d tries", c.name, found, tries)
		if found < tries*8/10 {
			t.Errorf("%s: found in %d of %d tries", c.name, found, tries)
		}
	}
}

// Fewer than six windows decide nothing, and the comparison says so.
func TestFewWindowsDecideNothing(t *testing.T) {
	s := &simulated{rand.New(rand.NewPCG(1, 9)), true}
	short := func(slow float64) *load.Result {
		r := s.run(func(_ *load.DueWindow, n *float64) { *n *= slow })
		r.Series, r.Due, r.Measured = r.Series[:5], r.Due[:5], 5*time.Second
		return r
	}
	c := compareLoads(t, short(1), short(0.1))
	if ch := change(t, c, "load", "requests"); ch.Verdict != Unsure || c.Regressions != 0 {
		t.Errorf("%+v", ch)
	}
	ch := change(t, c, "load", "requests")
	if row := ch.row(); !strings.Contains(row.Cells[6].Text, "undecided") {
		t.Errorf("%+v", row)
	}
}

// Old, new and ratio of a row are of the same: a percentile of the whole run, which one bad window changes.
func TestTheRatioIsThatOfTheFiguresBesideIt(t *testing.T) {
	s := &simulated{rand.New(rand.NewPCG(sluicetest.Seed(t), 9)), false}
	c := compareLoads(t, s.run(nil), s.runWith(nil, -1, true))
	p99 := change(t, c, "load", "P99")
	row := p99.row()
	if want := units.Ratio(p99.New / p99.Old); p99.New < 50*p99.Old || row.Cells[4].Text != want || len(row.Under) != 1 || !strings.Contains(row.Under[0], "windows") {
		t.Errorf("%+v, want the ratio %s", row, want)
	}
	one := change(t, c, "load", "P99 in one window")
	if row := one.row(); row.Cells[2].Text != "–" || !strings.Contains(row.Under[0], "to the median of the new run's, "+units.Figure(one.Old, one.Unit)) {
		t.Errorf("of a window nothing says what it is compared with: %+v", row)
	}
	p50 := change(t, c, "load", "P50")
	if row := p50.row(); row.Cells[4].Text != units.Ratio(p50.New/p50.Old) || row.Cells[5].Text == "" {
		t.Errorf("%+v", row)
	}
}

// Replies that are failures, up to which a run is valid, are a regression where there were next to none.
func TestRequestsThatFailAreFound(t *testing.T) {
	s := &simulated{rand.New(rand.NewPCG(sluicetest.Seed(t), 9)), false}
	failing := func(replies, lost, resent uint64) *load.Result {
		r := s.run(nil)
		r.Requests, r.Lost, r.Resent = 400_000-lost, lost, resent
		r.Replies = []load.Replies{{Class: "5xx", Count: replies, Failed: true}}
		return r
	}
	for _, c := range []struct {
		before, after, lost, resent uint64
		want                        Verdict
	}{{0, 0, 0, 0, Same}, {0, 4000, 0, 0, Worse}, {0, 0, 4000, 0, Worse}, {0, 0, 0, 500, Worse}, {10, 300, 0, 0, Same}, {4000, 8000, 0, 0, Same}, {4000, 16_000, 0, 0, Worse}, {4000, 0, 0, 0, Same}} {
		got := compareLoads(t, failing(c.before, 0, 0), failing(c.after, c.lost, c.resent))
		at := slices.IndexFunc(got.Changes, func(ch Change) bool { return ch.Figure == "requests failed or sent again" })
		if at < 0 || got.Changes[at].Verdict != c.want {
			t.Errorf("%+v: %+v", c, got.Changes)
		}
	}
}

// One slow reply in a thousand is beyond the P99.9, and no window of a second has many: it is a regression where others
// kept neither side from a processor, and not where few were slow, as many before, or all are.
func TestFewSlowRepliesAreFound(t *testing.T) {
	s := &simulated{rand.New(rand.NewPCG(sluicetest.Seed(t), 9)), false}
	slow := func(count uint64, part float64, took, usual time.Duration) *load.Result {
		r := s.run(nil)
		d := r.Latency
		d.Count, d.P50 = count, usual
		for q := 1.0; q*float64(count) >= 1; q *= 0.9 {
			at := usual
			if q < part {
				at = took
			}
			d.Curve = append(d.Curve, load.Quantile{Q: 1 - q, At: at})
		}
		d.Curve = append(d.Curve, load.Quantile{Q: 1, At: took})
		return r
	}
	const ms, usual = time.Millisecond, 100 * time.Microsecond
	half := 0.5
	for _, c := range []struct {
		count         uint64
		before, after float64
		took, usual   time.Duration
		crowded       *float64
		want          Verdict
	}{
		{400_000, 0, 0.001, 200 * ms, usual, nil, Worse},
		{400_000, 0.0001, 0.001, 200 * ms, usual, nil, Worse},
		{400_000, 0.0008, 0.001, 200 * ms, usual, nil, Same},
		{400_000, 0, 0.0001, 200 * ms, usual, nil, Same},
		{5_000, 0, 0.001, 200 * ms, usual, nil, Same}, // five of them
		{400_000, 0, 0.001, 40 * ms, usual, nil, Same},
		{400_000, 0, 0.001, 200 * ms, 95 * ms, nil, Same},
		{400_000, 0, 0.001, 200 * ms, usual, &half, Unsure},
	} {
		old, later := slow(c.count, c.before, c.took, c.usual), slow(c.count, c.after, c.took, c.usual)
		if c.crowded != nil {
			wait := time.Duration(*c.crowded * float64(later.Measured))
			later.Generator.Queued = &wait
		}
		if got := change(t, compareLoads(t, old, later), "load", "requests of 100 ms and more"); got.Verdict != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestLoadsOfDifferentDepthAreNotCompared(t *testing.T) {
	s := &simulated{rand.New(rand.NewPCG(sluicetest.Seed(t), 10)), false}
	a, b := s.run(nil), s.run(nil)
	b.Plan.Depth = 16
	if _, err := Compare(&Result{Name: "a", Kind: KindLoad, Load: a}, &Result{Name: "b", Kind: KindLoad, Load: b}, Options{}); !errors.Is(err, ErrNotComparable) {
		t.Errorf("got %v", err)
	}
}

// Results hold a digest of a body; those of versions before had the body itself.
func TestLoadsWithOtherBodiesAreNotCompared(t *testing.T) {
	s := &simulated{rand.New(rand.NewPCG(sluicetest.Seed(t), 11)), false}
	result := func(requests wire.Options) *Result {
		r := s.run(nil)
		r.Plan.Requests = requests
		return &Result{Name: "r", Kind: KindLoad, Load: r}
	}
	own, http := wire.Options{Own: &wire.Own{Request: []byte("one")}}, wire.Options{HTTP: &wire.HTTP{Body: []byte("one")}}
	for _, same := range []wire.Options{own, http} {
		if _, err := Compare(result(same), result(same.Public()), Options{}); err != nil {
			t.Error(err)
		}
	}
	for _, other := range []wire.Options{{Own: &wire.Own{Request: []byte("two")}}, {HTTP: &wire.HTTP{Body: []byte("two")}}} {
		for _, one := range []wire.Options{own, http} {
			if _, err := Compare(result(one.Public()), result(other.Public()), Options{}); !errors.Is(err, ErrNotComparable) {
				t.Errorf("got %v", err)
			}
		}
	}
}
