package echobench

import (
	"net"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// serveFloor sends back what comes, with the least that epoll needs for it.
func serveFloor(l *net.TCPListener, size int, counter *ConnCounter) error {
	same := func(p []byte) []byte { return p }
	f := rawio.Floor{
		Buffer: 2 * buffer(size), Closed: func(*rawio.Conn) { counter.Closed() },
		Open: func(*rawio.Conn) func(p []byte) []byte {
			counter.Opened()
			return same
		},
	}
	return f.Serve(l)
}
