//go:build !linux

package calibrate

import "time"

// mostLateAfter is somewhat more than the steps of 15.6 ms in which some systems
// count time.
const mostLateAfter = 20 * time.Millisecond

func newWait() (wait func(time.Duration), done func(), err error) {
	return time.Sleep, func() {}, nil
}
