//go:build !unix

package measure

import "time"

// processCPU is not known here, and so the figure is absent.
func processCPU() (time.Duration, bool) { return 0, false }
