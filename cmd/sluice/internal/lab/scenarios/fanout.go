package scenarios

import (
	"fmt"
	"io"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/mem"
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

// pinnedRatio is the most bytes that were held back from other use at any
// time, for each byte of a frame that a keeper still had.
const pinnedRatio = "pinned-ratio"

// fanoutGroup hands each frame to three keepers.
func fanoutGroup() []lab.Scenario {
	one := lab.Scenario{
		Name:     "fanout/one-goroutine",
		Title:    "frames of 2 KB to three keepers, each of which keeps the last 100, all in one goroutine",
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "pool-refcount",
		Ops:      50_000,
		Targets:  fanTargets(0.80, 0.08),
	}
	channels := lab.Scenario{
		Name:     "fanout/channels",
		Title:    "frames of 2 KB to three keepers, each of which keeps the last 100, over buffered channels",
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "pool-refcount",
		Ops:      20_000,
		Targets:  fanTargets(0.75, 0.15),
	}
	for _, f := range fanWays {
		one.Variants = append(one.Variants, fanVariant(f, f.one))
		channels.Variants = append(channels.Variants, fanVariant(f, f.channels))
	}
	return []lab.Scenario{one, channels}
}

func fanTargets(pool, naive float64) []lab.Target {
	return append([]lab.Target{
		{Variant: "readbuf", Against: "pool-refcount", AtMost: pool},
		{Variant: "readbuf", Against: "copy", AtMost: naive},
		{Variant: "readbuf", Metric: pinnedRatio, AtMost: 2.0},
	}, noGarbage("readbuf")...)
}

func fanVariant(f fanWay, open func(io.Reader, *stream) pinWalk) lab.Variant {
	return lab.Variant{Name: f.name, About: f.about, Open: func(env lab.Env) (lab.Runner, error) {
		s := frameKind{env.Seed, fanFrame, fanFrame}.frames()
		return newFanRunner(open(netsim.NewReader(s.source(0), netsim.Good, env.Seed), s), s)
	}}
}

// A fanWay is a way to let several receivers have the same frame.
type fanWay struct {
	name, about string
	one         func(io.Reader, *stream) pinWalk
	channels    func(io.Reader, *stream) pinWalk
	server      func(lab.Env) (lab.Runner, error)
}

// newFanWay makes a way of a fan whose references are T. Fans that take memory
// from us take it from the given allocator, so that it can be counted.
func newFanWay[T any](name, about string, open func(io.Reader, *stream, *mem.Allocator) fanOf[T]) fanWay {
	memory := func() *mem.Allocator { return mem.New(mem.Options{Name: "fanout"}) }
	return fanWay{
		name: name, about: about,
		one:      func(src io.Reader, s *stream) pinWalk { return probed{open(src, s, memory())} },
		channels: func(src io.Reader, s *stream) pinWalk { return newChanFan(open(src, s, memory())) },
		server: func(env lab.Env) (lab.Runner, error) {
			all := memory()
			return newServer(env, func(src io.Reader, s *stream) fanOf[T] { return open(src, s, all) }), nil
		},
	}
}

// A fan hands frames to keepers in one goroutine. Its walk comes to the marks
// of the frames that were let go, each keeper counting for itself, and to
// none while the keepers take their first frames.
type fan interface {
	walk
	// end lets go what the keepers hold and gives back the rest.
	end()
	// pinned returns how many bytes are held back when the keepers hold so many
	// frames together, and so many different ones.
	pinned(held, different int) int64
}

// A fanOf is a fan and the steps of it, for receivers in other goroutines.
type fanOf[T any] interface {
	fan
	// next reads a frame and fills refs with references to it.
	next(refs []T) error
	// letGo looks at a frame for the last time, and releases it.
	letGo(T) uint64
}

// A keeper holds the last frames that it was given.
type keeper[T any] struct {
	ring [keepDepth]T
	at   int
}

// swap keeps v and returns what is to be let go for it.
func (k *keeper[T]) swap(v T) T {
	old := k.ring[k.at]
	k.ring[k.at] = v
	if k.at++; k.at == keepDepth {
		k.at = 0
	}
	return old
}

// A round of keepers is what a fan of one goroutine keeps.
type round[T any] struct {
	keep [keepers]keeper[T]
	refs [keepers]T
	held int // frames that each keeper has, until all are full
}

// fill takes the latest frame without letting one go.
func (r *round[T]) fill() {
	for i := range r.keep {
		r.keep[i].swap(r.refs[i])
	}
	r.held++
}

// empty calls letGo for all that is kept.
func (r *round[T]) empty(letGo func(T) uint64) {
	for i := range r.keep {
		k := &r.keep[i]
		for j := range r.held {
			letGo(k.ring[(k.at+keepDepth-r.held+j)%keepDepth])
		}
	}
	r.held = 0
}

// A pinWalk is a walk that can say how much it pinned while it walked n units,
// for each byte alive.
type pinWalk interface {
	walk
	end()
	probe(n int) (ratio float64, sum uint64, err error)
}

// probed watches a fan of one goroutine, in which all keepers hold the same
// frames.
type probed struct{ fan }

func (p probed) probe(n int) (ratio float64, sum uint64, err error) {
	for range n {
		k, err := p.walk(1)
		if err != nil {
			return 0, 0, err
		}
		sum += k
		ratio = max(ratio, float64(p.pinned(keepers*keepDepth, keepDepth))/(keepDepth*fanFrame))
	}
	return ratio, sum, nil
}

// fanRunner runs a fan whose keepers are full.
type fanRunner struct {
	place
	w       pinWalk
	figures map[string]float64
}

// probeFrames is how many frames pass while the pinned bytes are watched.
// That happens before the clock runs, on the path that is then measured.
const probeFrames = 8192

func newFanRunner(w pinWalk, s *stream) (lab.Runner, error) {
	r := &fanRunner{place: place{s: s, times: keepers}, w: w, figures: map[string]float64{}}
	if sum, err := w.walk(keepDepth); err != nil || sum != 0 {
		w.end()
		return nil, fmt.Errorf("scenarios: filling the keepers: sum %#x, error %v", sum, err)
	}
	ratio, sum, err := w.probe(probeFrames)
	if err == nil {
		_, err = r.account(probeFrames, sum)
	}
	if err != nil {
		w.end()
		return nil, err
	}
	r.figures[pinnedRatio] = ratio
	return r, nil
}

func (r *fanRunner) Run(ops int) (lab.Sample, error) {
	sum, err := r.w.walk(ops)
	if err != nil {
		return lab.Sample{}, err
	}
	out, err := r.account(ops, sum)
	out.Figures = r.figures
	return out, err
}

func (r *fanRunner) Close() error {
	r.w.end()
	return nil
}
