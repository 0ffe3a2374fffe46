package scenarios

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/netsim"
)

// allFrames and allTags are all ways, the floor first.
var (
	allFrames = slices.Concat(frameWays, ourFrames)
	allTags   = slices.Concat(tagWays, ourTags)
)

// shortFrames are the frames of the in-memory scenarios: 256 up to 1,024
// bytes behind a length.
func shortFrames(env lab.Env) *stream { return frameKind{env.Seed, 256, 1024}.frames() }

// framingGroup reads frames from memory in pieces as networks bring them, in
// one goroutine.
func framingGroup() []lab.Scenario {
	atMost := map[string]float64{"good": 0.85, "normal": 0.85, "poor": 0.90, "worst": 0.95}
	var group []lab.Scenario
	for _, cond := range netsim.Conditions() {
		sc := lab.Scenario{
			Name:     "framing/" + cond.Name,
			Title:    fmt.Sprintf("frames of 256 to 1,024 bytes from memory, network %v", cond),
			Op:       "frame",
			Metric:   lab.NsPerOp,
			Baseline: "peek",
			Ops:      100_000,
			Targets: append([]lab.Target{
				{Variant: "next", Against: "peek", AtMost: atMost[cond.Name]},
				{Variant: "range", Against: "peek", AtMost: 1.15},
			}, noGarbage("next", "range", "readbuf")...),
		}
		for _, w := range slices.Concat(frameWays, []way{wholePeek}, ourFrames) {
			sc.Variants = append(sc.Variants, lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) {
				s := shortFrames(env)
				src := netsim.NewReader(s.source(0), cond, env.Seed)
				return newWalker(w, src, place{s: s}), nil
			}})
		}
		group = append(group, sc)
	}
	return group
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
