package measure

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

// MBPerS is payload per second of wall time, in units of 1,000,000 bytes. It is
// recorded when a run consumed bytes; more is better, unlike everything else.
const MBPerS = "MB/s"

func figures(ops int, wall time.Duration, used proc.Work) map[string]float64 {
	n := float64(ops)
	return map[string]float64{
		lab.NsPerOp:     float64(wall.Nanoseconds()) / n,
		lab.CPUPerOp:    float64(used.CPU.Nanoseconds()) / n,
		lab.AllocsPerOp: float64(used.Mallocs) / n,
		lab.BytesPerOp:  float64(used.Bytes) / n,
		lab.GCRuns:      float64(used.GCs),
	}
}

// record puts the measured figures and the runner's own together; the
// runner's win. Figures that are no finite numbers are left out.
func record(place int, wall time.Duration, measured map[string]float64, sample lab.Sample) Call {
	call := Call{Place: place, Bytes: sample.Bytes, Check: sample.Check, Figures: measured}
	if sample.Bytes > 0 && wall > 0 {
		call.Figures[MBPerS] = float64(sample.Bytes) / 1e6 / wall.Seconds()
	}
	for name, value := range sample.Figures {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			delete(call.Figures, name)
			continue
		}
		call.Figures[name] = value
	}
	return call
}
