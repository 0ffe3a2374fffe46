//go:build linux && !amd64 && !arm64

package echobench

import (
	"errors"
	"net"
)

const hasNetpoll = false

func serveNetpoll(*net.TCPListener, int, *ConnCounter) error { return errors.ErrUnsupported }
