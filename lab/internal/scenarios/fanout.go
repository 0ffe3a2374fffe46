package scenarios

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/machine"
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

var (
	few  = crowd{keepers, keepDepth}
	wide = crowd{100, keepDepth}
	// A thousand keep less each, so that their handles stay in a near cache.
	widest = crowd{1000, 16}
)

// pinnedRatio is the most bytes that were held back from other use at any
// time, for each byte of a frame that a keeper still had.
const pinnedRatio = "pinned-ratio"

var _ = register(50, fanoutGroup)

// fanoutGroup hands each frame to three keepers, and to many.
func fanoutGroup() []lab.Scenario {
	bound := fewBounds()
	one := fanScenario("one-goroutine", "three keepers, each of which keeps the last 100, all in one goroutine"+bound.note, 50_000)
	one.Targets = fewTargets(bound.one, 0.08)
	channels := fanScenario("channels", "three keepers, each of which keeps the last 100, over buffered channels"+bound.note, 20_000)
	channels.Targets = fewTargets(bound.channels, 0.15)
	for _, f := range fanWays {
		one.Variants = append(one.Variants, fanVariant(f, few, f.one))
		channels.Variants = append(channels.Variants, fanVariant(f, few, f.channels))
	}
	group := []lab.Scenario{one, channels}
	for _, c := range []struct {
		crowd
		most float64
		ops  int
	}{{wide, 1.30, 5_000}, {widest, 1.35, 500}} {
		sc := fanScenario(fmt.Sprint(c.keepers), fmt.Sprintf("%d keepers, each of which keeps the last %d, all in one goroutine", c.keepers, c.depth), c.ops)
		sc.Targets = wideTargets(c.most)
		for _, f := range wideWays {
			sc.Variants = append(sc.Variants, fanVariant(f, c.crowd, f.one))
		}
		group = append(group, sc)
	}
	for _, goroutines := range []int{2, 4} {
		sc := fanScenario(fmt.Sprintf("100x%d", goroutines), fmt.Sprintf("100 keepers, each of which keeps the last 100, on %d goroutines that are handed %d frames at a time", goroutines, batchFrames), 5_000)
		sc.Targets = wideTargets(1.20)
		for _, f := range wideWays {
			sc.Variants = append(sc.Variants, fanVariant(f, wide, func(src io.Reader, s *stream, c crowd) fanWalk {
				return f.shared(src, s, c, goroutines)
			}))
		}
		group = append(group, sc)
	}
	return group
}

func fanScenario(name, receivers string, ops int) lab.Scenario {
	return lab.Scenario{
		Name:     "fanout/" + name,
		Title:    "frames of 2 KB to " + receivers,
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "pool-refcount",
		Ops:      ops,
	}
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
		{Variant: "readbuf", Metric: pinnedRatio, AtMost: 2.0},
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

func fanVariant(f fanWay, c crowd, open func(io.Reader, *stream, crowd) fanWalk) lab.Variant {
	return lab.Variant{Name: f.name, About: f.about, Open: func(env lab.Env) (lab.Runner, error) {
		s := frameKind{env.Seed, fanFrame, fanFrame}.frames()
		return newFanRunner(open(netsim.NewReader(s.source(0), netsim.Good, env.Seed), s, c), s, c)
	}}
}

// A fanWay is a way to let several receivers have the same frame.
type fanWay struct {
	name, about string
	one         func(io.Reader, *stream, crowd) fanWalk
	channels    func(io.Reader, *stream, crowd) fanWalk // for a few
	shared      func(src io.Reader, s *stream, c crowd, goroutines int) fanWalk
	server      func(lab.Env) (lab.Runner, error)
}

// newFanWay makes a way of a fan whose references are T. Fans that take memory
// from us take it from the given allocator, so that it can be counted.
func newFanWay[T any](name, about string, open func(io.Reader, *stream, *mem.Allocator, crowd) fanOf[T]) fanWay {
	memory := func() *mem.Allocator { return mem.New(mem.Options{Name: "fanout"}) }
	return fanWay{
		name: name, about: about,
		one:      func(src io.Reader, s *stream, c crowd) fanWalk { return probed{open(src, s, memory(), c), c} },
		channels: func(src io.Reader, s *stream, c crowd) fanWalk { return newChanFan(open(src, s, memory(), c)) },
		shared: func(src io.Reader, s *stream, c crowd, goroutines int) fanWalk {
			return newSharedOut(open(src, s, memory(), c), c, goroutines)
		},
		server: func(env lab.Env) (lab.Runner, error) {
			all := memory()
			return newServer(env, func(src io.Reader, s *stream) fanOf[T] { return open(src, s, all, few) }), nil
		},
	}
}
