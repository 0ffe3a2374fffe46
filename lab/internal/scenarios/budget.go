package scenarios

import (
	"fmt"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/mem"
)

var _ = register(120, budgetGroup)

func budgetGroup() []lab.Scenario {
	few := budgetScenario(64, 1<<20, 100_000)
	few.Targets = append(few.Targets,
		lab.Target{Variant: "budget", Metric: leastMedian, AtLeast: 0.5},
		lab.Target{Variant: "budget", Metric: framesPerS, Against: "unlimited", AtLeast: 0.7})
	many := budgetScenario(1000, 4<<20, 100_000)
	many.Targets = append(many.Targets, lab.Target{Variant: "budget", AtMost: 8000})
	return []lab.Scenario{few, many}
}

func budgetScenario(readers int, budget int64, frames int) lab.Scenario {
	variant := func(name, about string, limit int64) lab.Variant {
		return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) {
			return newContest(env, readers, mem.New(mem.Options{Name: "budget", Budget: limit}))
		}}
	}
	return lab.Scenario{
		Name:     "budget/" + strconv.Itoa(readers),
		Title:    fmt.Sprintf("frames of 16 KiB by %d readers over loopback TCP, which share %d MiB, from another process as fast as it can", readers, budget>>20),
		Op:       "frame",
		Metric:   lab.CPUPerOp,
		Baseline: "unlimited",
		Ops:      frames,
		Fixed:    true,
		Named:    true,
		Targets:  []lab.Target{{Variant: "budget", Metric: budgetErrors, AtMost: 0}},
		Variants: []lab.Variant{
			variant("unlimited", "our BufReader: ReadBuf and Release, all readers on one allocator without a budget", 0),
			variant("budget", "the same with the budget; a reader whose call ends with mem.ErrBudget calls again", budget),
		},
	}
}
