//go:build !linux

package load

import (
	"errors"
	"fmt"
)

// bestEngine is what a plan without an engine gets.
func bestEngine(p *Plan) (engine, error) {
	if p.Engine == "epoll" {
		return nil, fmt.Errorf("load: the engine epoll is for Linux: %w", errors.ErrUnsupported)
	}
	return portable{}, nil
}
