//go:build !linux

package relay

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Supported says why nothing can be measured on this machine: an error that
// wraps errors.ErrUnsupported, or nil.
func Supported() error {
	return fmt.Errorf("relay: viewers over epoll and processes bound to processors need Linux: %w", errors.ErrUnsupported)
}

// RunLoad needs Linux.
func RunLoad(io.Reader, io.Writer) error { return Supported() }

// ServeFloor needs Linux.
func ServeFloor(string, time.Duration, io.Reader, io.Writer) error { return Supported() }
