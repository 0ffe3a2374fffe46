//go:build !linux

package evidence

import (
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab/proc"
)

var atFirst = sync.OnceValues(func() (proc.Reading, error) { return proc.Read(0) })

// ownCPU is the processor time of this process since the first call; 0 where
// it cannot be read.
func ownCPU() time.Duration {
	first, err := atFirst()
	if err != nil {
		return 0
	}
	now, err := proc.Read(0)
	if err != nil {
		return 0
	}
	return first.To(now).CPU
}
