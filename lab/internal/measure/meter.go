package measure

import (
	"math"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// MBPerS is payload per second of wall time, in units of 1,000,000 bytes. It is
// recorded when a run consumed bytes; more is better, unlike everything else.
const MBPerS = "MB/s"

// A meter holds the counters at the start of a run. Reading the allocator's
// counters stops the world, so that they are read outside the two clocks; they
// are large, and both sets live here so that the second is not itself allocated
// while it counts.
type meter struct {
	memory runtime.MemStats
	after  runtime.MemStats
	cpu    time.Duration
	hasCPU bool
	wall   time.Time
}

func (m *meter) start() {
	runtime.ReadMemStats(&m.memory)
	m.cpu, m.hasCPU = processCPU()
	m.wall = time.Now()
}

// stop returns the wall time and the measured figures of ops operations.
func (m *meter) stop(ops int) (time.Duration, map[string]float64) {
	wall := time.Since(m.wall)
	cpu, hasCPU := processCPU()
	runtime.ReadMemStats(&m.after)

	n := float64(ops)
	figures := map[string]float64{
		lab.NsPerOp:     float64(wall.Nanoseconds()) / n,
		lab.AllocsPerOp: float64(m.after.Mallocs-m.memory.Mallocs) / n,
		lab.BytesPerOp:  float64(m.after.TotalAlloc-m.memory.TotalAlloc) / n,
		lab.GCRuns:      float64(ownCollections(&m.after) - ownCollections(&m.memory)),
	}
	if m.hasCPU && hasCPU {
		figures[lab.CPUPerOp] = float64((cpu - m.cpu).Nanoseconds()) / n
	}
	return wall, figures
}

// ownCollections counts those that the runtime started by itself. A runner
// that calls runtime.GC to look at the live heap does not make its variant
// look worse.
func ownCollections(m *runtime.MemStats) int64 {
	return int64(m.NumGC) - int64(m.NumForcedGC)
}

// record puts the measured figures and the runner's own together; the
// runner's win. Figures that are no finite numbers are left out.
func record(place int, wall time.Duration, measured map[string]float64, sample lab.Sample) Turn {
	turn := Turn{Place: place, Bytes: sample.Bytes, Check: sample.Check, Figures: measured}
	if sample.Bytes > 0 && wall > 0 {
		turn.Figures[MBPerS] = float64(sample.Bytes) / 1e6 / wall.Seconds()
	}
	for name, value := range sample.Figures {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			delete(turn.Figures, name)
			continue
		}
		turn.Figures[name] = value
	}
	return turn
}
