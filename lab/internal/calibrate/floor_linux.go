package calibrate

import (
	"net"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// floorBuffer holds many short messages, and much of a long one.
const floorBuffer = 128 << 10

// serveFloor answers the connections of a listener until something fails.
func serveFloor(l *net.TCPListener, protocol load.Protocol) error {
	f := rawio.Floor{Buffer: floorBuffer, Open: func(*rawio.Conn) func(p []byte) []byte { return answers(protocol) }}
	return f.Serve(l)
}
