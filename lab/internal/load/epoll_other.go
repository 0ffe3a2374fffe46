//go:build !linux

package load

import (
	"errors"
	"fmt"
	"time"
)

// mostLateAfter is somewhat more than the steps of 15.6 ms in which some systems
// count time.
const mostLateAfter = 20 * time.Millisecond

func raw(p *Plan) (loops, error) {
	if p.Engine == "epoll" {
		return loops{}, fmt.Errorf("load: the engine epoll is for Linux: %w", errors.ErrUnsupported)
	}
	return portable, nil
}
