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
