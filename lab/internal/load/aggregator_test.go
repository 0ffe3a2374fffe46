package load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

// Whatever threads take down, and in what order they get to it, the windows are
// those of one that took everything down.
func TestRecordersTogetherAreOne(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	p := Default()
	p.Warmup, p.Duration, p.Rate = 1500*time.Millisecond, 4*time.Second, 1
	const threads = 3
	alone, together := newAggregator(&p, 1), newAggregator(&p, threads)
	one := newRecorder(alone, &p)
	many := make([]*recorder, threads)
	for i := range many {
		many[i] = newRecorder(together, &p)
	}
	for now := int64(0); now < int64(6*time.Second); now += rng.Int64N(int64(20 * time.Millisecond)) {
		end := min(now, alone.end)
		q := request{intended: now - rng.Int64N(1e9), outcome: wire.Outcome{Payload: 1 + rng.IntN(1000)}}
		q.sent = q.intended + (now-q.intended)/2
		one.advance(end)
		one.answered(now, &q)
		r := many[rng.IntN(threads)]
		r.advance(end)
		r.answered(now, &q)
	}
	for _, r := range append(many, one) {
		r.advance(alone.end)
	}
	if len(alone.series) != 4 || len(together.series) != 4 || len(alone.p99s) < 30 {
		t.Fatalf("%d and %d seconds, %d windows", len(alone.series), len(together.series), len(alone.p99s))
	}
	for i, s := range alone.series {
		if s != together.series[i] {
			t.Errorf("second %d: %+v, together %+v", i, s, together.series[i])
		}
	}
	if len(alone.p99s) != len(together.p99s) {
		t.Fatalf("%d and %d windows", len(alone.p99s), len(together.p99s))
	}
	for i, w := range alone.p99s {
		if w != together.p99s[i] {
			t.Errorf("window %d: %+v, together %+v", i, w, together.p99s[i])
		}
	}
	if len(together.pending) > 0 || len(together.seconds) > 0 {
		t.Errorf("%d windows and %d seconds are left open", len(together.pending), len(together.seconds))
	}
	sum := uint64(0)
	for _, r := range many {
		sum += r.requests
	}
	if sum != one.requests || sum == 0 {
		t.Errorf("%d requests, together %d", one.requests, sum)
	}
}

func TestMovingMeans(t *testing.T) {
	p := Default()
	p.Warmup, p.Duration = 0, 8*time.Second
	b := newAggregator(&p, 1)
	for i := range 8 {
		b.endSecond(i, Second{Bytes: uint64(100 * (i + 1)), Requests: 1})
	}
	for i, want := range []float64{100, 150, 200, 250, 300, 400, 500, 600} {
		if got := b.series[i]; got.Mean != want || got.Rate != float64(100*(i+1)) {
			t.Errorf("%d: %+v, want a mean of %v", i, got, want)
		}
	}
}

func TestJitterIsTheDeviationOfTheP99s(t *testing.T) {
	w := DefaultWindows()
	steady, wild := []WindowP99{}, []WindowP99{}
	for i := range 150 {
		at := time.Duration(i+1) * w.P99
		steady = append(steady, WindowP99{at, 10, time.Millisecond})
		p := WindowP99{at, 10, time.Millisecond}
		if i%2 == 1 {
			p.P99 = 3 * time.Millisecond
		}
		wild = append(wild, p)
	}
	if spans, middle := jitters(steady, w, 15*time.Second); middle != 0 || len(spans) != 3 || spans[1].N != 50 {
		t.Errorf("%v %v", spans, middle)
	}
	// Half of the values are 1 ms away from the mean on either side; 50 of them.
	want := time.Duration(math.Sqrt(50.0/49) * 1e6)
	spans, middle := jitters(wild, w, 15*time.Second)
	if len(spans) != 3 || middle-want > 1 || want-middle > 1 || spans[2].At != 15*time.Second {
		t.Errorf("%v %v, want %v", spans, middle, want)
	}
	if spans, middle := jitters(wild[:20], w, 2*time.Second); len(spans) != 1 || spans[0].N != 20 || middle == 0 {
		t.Errorf("a short run: %v %v", spans, middle)
	}
	for _, none := range [][]WindowP99{nil, wild[:1]} {
		if spans, middle := jitters(none, w, time.Second); spans != nil || middle != 0 {
			t.Errorf("of %d windows: %v %v", len(none), spans, middle)
		}
	}
	if spans, middle := jitters(nil, w, 0); spans != nil || middle != 0 {
		t.Errorf("of nothing: %v %v", spans, middle)
	}
}

func TestDistributions(t *testing.T) {
	h := newHistogram()
	if d := distribution(h); d != nil {
		t.Errorf("of nothing: %+v", d)
	}
	record(h, 5e6)
	d := distribution(h)
	if d.Count != 1 || d.Curve[len(d.Curve)-1].Q != 1 || math.Abs(float64(d.P50)-5e6) > 5e3 || math.Abs(float64(d.P999)-5e6) > 5e3 {
		t.Errorf("of one: %+v", d)
	}
	h.Reset()
	for i := range 10000 {
		record(h, int64(i+1)*1000)
	}
	d = distribution(h)
	for q, got := range map[float64]time.Duration{0.5: d.P50, 0.9: d.P90, 0.99: d.P99, 0.999: d.P999, 1: d.Max} {
		if want := q * 1e7; math.Abs(float64(got)-want) > 0.002*want {
			t.Errorf("%v: %v", q, got)
		}
	}
	for i, p := range d.Curve[1:] {
		if p.Q <= d.Curve[i].Q || p.At < d.Curve[i].At {
			t.Errorf("the curve falls at %d: %v %v", i, d.Curve[i], p)
		}
	}
	record(h, -5)
	record(h, math.MaxInt64)
	if d := distribution(h); d.Count != 10002 || d.Max < longest/2 {
		t.Errorf("%+v", d)
	}
}
