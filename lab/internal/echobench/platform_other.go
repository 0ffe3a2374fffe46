//go:build !linux

package echobench

import (
	"errors"
	"fmt"
	"net"
)

func platform() error {
	return fmt.Errorf("echo: epoll and processes bound to processors need Linux: %w", errors.ErrUnsupported)
}

const hasNetpoll = false

func unsupported(*net.TCPListener, int, *Census) error { return platform() }

var serveAIO, serveAIONil, servePooled, serveNetpoll, serveFloor = unsupported, unsupported, unsupported, unsupported, unsupported

var serveAIOQuiet, serveConns, serveConnsTLS, serveStdTLS = unsupported, unsupported, unsupported, unsupported

func serveStd(int) func(*net.TCPListener, int, *Census) error { return unsupported }
