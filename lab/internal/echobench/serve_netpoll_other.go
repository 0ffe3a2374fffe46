//go:build linux && !amd64 && !arm64

package echobench

import "net"

// serveNetpoll is not there: netpoll does not compile for this processor.
var serveNetpoll func(*net.TCPListener, int, *ConnCounter) error
