package scenarios

import (
	"fmt"
	"io"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

var allFrames = slices.Concat(plainWays, []way{bufioxWay}, ourWays)

// shortFrames are the frames of the in-memory scenarios: 256 up to 1,024
// bytes behind a length.
func shortFrames(env lab.Env) *stream { return frameKind{env.Seed, 256, 1024}.frames() }

var _ = register(10, framingGroup)

// framingGroup reads frames from memory in pieces as networks bring them, in
// one goroutine.
func framingGroup() []lab.Scenario {
	atMost := map[string]float64{"good": 0.85, "normal": 0.85, "poor": 0.90, "worst": 0.95}
	ways := slices.Concat(plainWays, floorWays, []way{bufioxWay, batchedBufiox}, ourWays)
	var group []lab.Scenario
	for _, cond := range netsim.Conditions() {
		sc := framing(cond.Name, fmt.Sprintf("frames of 256 to 1,024 bytes from memory, network %v", cond), ways, cond, shortFrames)
		sc.Ops = 100_000
		sc.Targets = append([]lab.Target{
			{Variant: "next", Against: "peek", AtMost: atMost[cond.Name]},
			// At most 0.95 of each is at most 0.95 of the better one.
			{Variant: "next", Against: "bufiox", AtMost: 0.95},
			{Variant: "next", Against: "bufiox-16", AtMost: 0.95},
			{Variant: "range", Against: "peek", AtMost: 1.15},
		}, noGarbage("next", "range", "readbuf")...)
		group = append(group, sc)
	}
	for _, size := range []int{16, 128} {
		sc := framing(fmt.Sprintf("small-%d", size), fmt.Sprintf("frames of %d bytes from memory, network %v", size, netsim.Good), ways, netsim.Good,
			func(env lab.Env) *stream { return frameKind{env.Seed, size, size}.frames() })
		sc.Ops = 500_000
		sc.Targets = append([]lab.Target{{Variant: "readbuf", Against: "peek", AtMost: 0.95}}, noGarbage("next", "readbuf")...)
		group = append(group, sc)
	}
	return group
}

func framing(name, title string, ways []way, cond netsim.Condition, frames func(lab.Env) *stream) lab.Scenario {
	return lab.Scenario{
		Name:     "framing/" + name,
		Title:    title,
		Op:       "frame",
		Metric:   lab.NsPerOp,
		Baseline: "peek",
		Variants: walks(ways, fromMemory(frames, cond)),
	}
}

func fromMemory(frames func(lab.Env) *stream, cond netsim.Condition) func(lab.Env) (io.Reader, *stream, func() error, error) {
	return func(env lab.Env) (io.Reader, *stream, func() error, error) {
		s := frames(env)
		return netsim.NewReader(s.source(0), cond, env.Seed), s, nil, nil
	}
}

// noGarbage promises that the named variants neither allocate nor cause
// collections.
func noGarbage(variants ...string) []lab.Target {
	var targets []lab.Target
	for _, v := range variants {
		targets = append(targets,
			lab.Target{Variant: v, Metric: lab.AllocsPerOp, AtMost: 0},
			lab.Target{Variant: v, Metric: lab.GCRuns, AtMost: 0})
	}
	return targets
}
