package planted

import "github.com/sluice-go/sluice/lab/internal/lab"

// The names of the variants of every scenario here.
const (
	Fault  = "fault"
	Mended = "mended"
)

// All returns the workloads, which are run only when they are named. The
// slices in it are the caller's own.
func All() []lab.Scenario {
	return []lab.Scenario{
		smallWrites(),
		slicePerPacket(),
		sharedCounter(),
		lockOverIO(),
		smallBuffer(),
		smallFlushes(),
	}
}

// A way is one of the two variants of a workload.
type way struct {
	about string
	open  func(lab.Env) (lab.Runner, error)
}

// plant makes a scenario of a workload with a fault and without it.
func plant(name, title, op string, ops int, fault, mended way) lab.Scenario {
	return lab.Scenario{
		Name: "planted/" + name, Title: title, Op: op, Ops: ops,
		Metric: lab.NsPerOp, Baseline: Fault, Named: true,
		Variants: []lab.Variant{
			{Name: Fault, About: fault.about, Open: fault.open},
			{Name: Mended, About: mended.about, Open: mended.open},
		},
	}
}
