//go:build !linux

package evidence

import (
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// A cpuClock reads the processor time of this process.
type cpuClock struct{ first proc.Reading }

func newCPUClock() cpuClock {
	first, _ := proc.Read(0)
	return cpuClock{first}
}

// now is the processor time since the clock was made; 0 where it cannot be
// read.
func (c cpuClock) now() time.Duration {
	now, err := proc.Read(0)
	if err != nil {
		return 0
	}
	return c.first.To(now).CPU
}
