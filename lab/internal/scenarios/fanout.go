package scenarios

import (
	"fmt"
	"strings"
	"sync"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/netsim"
)

const (
	// keepers is how many receivers each frame has.
	keepers = 3
	// keepDepth is how many frames a keeper holds before it looks at the
	// oldest and lets it go: about what a viewer lags behind.
	keepDepth = 100
	// fanFrame is the payload of a frame in bytes.
	fanFrame = 2 << 10
)

var (
	few  = crowd{keepers, keepDepth}
	wide = crowd{100, keepDepth}
	// A thousand keep less each, so that their handles stay in a near cache.
	widest = crowd{1000, 16}
)

var _ = register(11, fanoutGroup)

func fanoutGroup() []lab.Scenario {
	bound := fewBounds()
	one := fanScenario("one-goroutine", "three keepers, each of which keeps the last 100, all in one goroutine"+bound.note, 50_000,
		fanWays, func(f fanWay) fanOpen { return f.together(few) }, few)
	one.Targets = fewTargets(bound.one, 0.08)
	channels := fanScenario("channels", "three keepers, each of which keeps the last 100, over buffered channels"+bound.note, 20_000,
		fanWays, func(f fanWay) fanOpen { return f.apiece(few, handing{keepers, 1, 64}) }, few)
	channels.Targets = fewTargets(bound.channels, 0.15)
	group := []lab.Scenario{one, channels}
	for _, c := range []struct {
		crowd
		most float64
		ops  int
	}{{wide, 1.30, 5_000}, {widest, 1.35, 500}} {
		sc := fanScenario(fmt.Sprint(c.keepers), fmt.Sprintf("%d keepers, each of which keeps the last %d, all in one goroutine", c.keepers, c.depth), c.ops,
			wideWays, func(f fanWay) fanOpen { return f.together(c.crowd) }, c.crowd)
		sc.Targets = wideTargets(c.most)
		group = append(group, sc)
	}
	for _, goroutines := range []int{2, 4} {
		h := handing{goroutines, 32, 4} // frames at once, so that it is not the channel that is measured
		sc := fanScenario(fmt.Sprintf("100x%d", goroutines), fmt.Sprintf("100 keepers, each of which keeps the last 100, on %d goroutines that are handed %d frames at a time", goroutines, h.batch), 5_000,
			wideWays, func(f fanWay) fanOpen { return f.apiece(wide, h) }, wide)
		sc.Targets = wideTargets(1.20)
		group = append(group, sc)
	}
	return group
}

func fanScenario(name, receivers string, ops int, ways []fanWay, open func(fanWay) fanOpen, c crowd) lab.Scenario {
	sc := lab.Scenario{
		Name:     "fanout/" + name,
		Title:    "frames of 2 KB to " + receivers,
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "pool-refcount",
		Ops:      ops,
	}
	for _, f := range ways {
		sc.Variants = append(sc.Variants, lab.Variant{Name: f.name, About: f.about, Open: func(env lab.Env) (lab.Runner, error) {
			s := frameKind{env.Seed, fanFrame, fanFrame}.frames()
			walk, end := open(f)(netsim.NewReader(s.source(0), netsim.Good, env.Seed))
			return newFanRunner(walk, end, s, c)
		}})
	}
	return sc
}

// fewBounds are the bounds for three keepers on this kind of processor: an
// atomic operation costs more on AMD's, beside the copy that it saves.
var fewBounds = sync.OnceValue(func() (b struct {
	one, channels float64
	note          string
}) {
	b.one, b.channels, b.note = 0.82, 0.85, " (targets for AMD)"
	if strings.Contains(machine.This().CPU, "Intel") {
		b.one, b.channels, b.note = 0.60, 0.65, " (targets for Intel)"
	}
	return b
})

func fewTargets(pool, naive float64) []lab.Target {
	return append([]lab.Target{
		{Variant: "readbuf", Against: "pool-refcount", AtMost: pool},
		{Variant: "readbuf", Against: "copy", AtMost: naive},
	}, noGarbage("readbuf")...)
}

// wideTargets have no bound for allocations: a round is so few frames that one
// of the runtime's own would show.
func wideTargets(pool float64) []lab.Target {
	return []lab.Target{
		{Variant: "readbuf", Against: "pool-refcount", AtMost: pool},
		{Variant: "readbuf", Metric: lab.GCRuns, AtMost: 0},
	}
}

type fan[T any] struct {
	// next reads a frame and fills refs with references to it.
	next func(refs []T) error
	// letGo looks at a frame for the last time, and releases it.
	letGo func(T) uint64
	// pass puts references into place at of each keeper, all of them full, and lets
	// go what was there. It is letGo, written out.
	pass func(keep [][]T, at int, refs []T) uint64
	end  func()
}

type crowd struct{ keepers, depth int }

type keeping[T any] struct {
	f        *fan[T]
	keep     [][]T
	at, held int // the place of the next frame; the frames that each keeper has
}

func newKeeping[T any](f *fan[T], c crowd) keeping[T] {
	k := keeping[T]{f: f, keep: make([][]T, c.keepers)}
	for i := range k.keep {
		k.keep[i] = make([]T, c.depth)
	}
	return k
}

// take gives each keeper its reference, and returns the marks of what they let go for
// it: nothing until they are full.
func (k *keeping[T]) take(refs []T) (sum uint64) {
	if k.held < len(k.keep[0]) {
		for i := range k.keep {
			k.keep[i][k.at] = refs[i]
		}
		k.held++
	} else {
		sum = k.f.pass(k.keep, k.at, refs)
	}
	if k.at++; k.at == len(k.keep[0]) {
		k.at = 0
	}
	return sum
}

func (k *keeping[T]) empty() {
	for _, ring := range k.keep {
		for i := range k.held {
			k.f.letGo(ring[(k.at-k.held+i+len(ring))%len(ring)])
		}
	}
	k.held = 0
}

func together[T any](f *fan[T], c crowd) (walk, func()) {
	k := newKeeping(f, c)
	refs := make([]T, c.keepers)
	return func(n int) (sum uint64, err error) {
			for range n {
				if err := f.next(refs); err != nil {
					return sum, err
				}
				sum += k.take(refs)
			}
			return sum, nil
		}, func() {
			k.empty()
			f.end()
		}
}

// A handing says how frames come to the goroutines of keepers: so many at once over a
// channel, in which so many batches wait at most.
type handing struct{ goroutines, batch, waiting int }

type part[T any] struct {
	keeping[T]
	from int // the first of its keepers
	full chan []T
	sum  uint64
	_    [aLine]byte
}

func apiece[T any](f *fan[T], c crowd, h handing) (walk, func()) {
	// Two more than wait: one is filled, and each receiver may look at one.
	batches := make([][]T, h.waiting+2)
	for i := range batches {
		batches[i] = make([]T, h.batch*c.keepers)
	}
	var parts []*part[T]
	for i := range h.goroutines {
		from, to := i*c.keepers/h.goroutines, (i+1)*c.keepers/h.goroutines
		parts = append(parts, &part[T]{keeping: newKeeping(f, crowd{to - from, c.depth}), from: from, full: make(chan []T, h.waiting)})
	}
	receivers := newWorkerPool(h.goroutines, func(i, n int) error {
		p := parts[i]
		for n > 0 {
			batch, ok := <-p.full
			if !ok {
				return nil
			}
			for ; len(batch) > 0; batch = batch[c.keepers:] {
				p.sum += p.take(batch[p.from : p.from+len(p.keep)])
				n--
			}
		}
		return nil
	})
	next, closed := 0, false
	end := func() {
		if !closed {
			closed = true
			for _, p := range parts {
				close(p.full)
			}
		}
	}
	// send reads n frames and hands them over, those too that came before an error.
	send := func(n int) (err error) {
		for n > 0 && err == nil {
			batch, frames := batches[next%len(batches)], 0
			next++
			for frames < min(n, h.batch) {
				if err = f.next(batch[frames*c.keepers : (frames+1)*c.keepers]); err != nil {
					break
				}
				frames++
			}
			for _, p := range parts {
				p.full <- batch[:frames*c.keepers]
			}
			n -= frames
		}
		return err
	}
	return func(n int) (sum uint64, err error) {
			receivers.begin(n)
			if err = send(n); err != nil {
				end()
			}
			receivers.wait()
			for _, p := range parts {
				sum += p.sum
				p.sum = 0
			}
			return sum, err
		}, func() {
			end()
			receivers.stop()
			for _, p := range parts {
				p.empty()
			}
			f.end()
		}
}

func newFanRunner(w walk, end func(), s *stream, c crowd) (lab.Runner, error) {
	if sum, err := w(c.depth); err != nil || sum != 0 {
		end()
		return nil, fmt.Errorf("scenarios: filling the keepers: sum %#x, error %v", sum, err)
	}
	return &walker{place: place{s: s, times: uint64(c.keepers)}, walk: w, end: end}, nil
}
