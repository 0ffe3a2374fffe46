//go:build !linux

package load

import (
	"errors"
	"fmt"
)

// raw is the engine for targets of raw bytes.
func raw(p *Plan) (engine, error) {
	if p.Engine == "epoll" {
		return nil, fmt.Errorf("load: the engine epoll is for Linux: %w", errors.ErrUnsupported)
	}
	return portable, nil
}
