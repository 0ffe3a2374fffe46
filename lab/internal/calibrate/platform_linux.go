package calibrate

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// mostLateAfter is more than any timer here is wrong by: they are precise to some
// microseconds. Waits that end later than that do so because something else has the
// processor, and that is what a run has to notice rather than to excuse.
const mostLateAfter = 5 * time.Millisecond

// newWait returns a way to wait that costs an epoll without descriptors.
func newWait() (wait func(time.Duration), done func(), err error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, nil, os.NewSyscallError("epoll_create1", err)
	}
	events := make([]unix.EpollEvent, 1)
	wait = func(d time.Duration) { rawio.Wait(ep, events, d) }
	return wait, func() { unix.Close(ep) }, nil
}

// floorBuffer holds many short messages, and much of a long one.
const floorBuffer = 128 << 10

// serveFloor answers the connections of a listener until something fails.
func serveFloor(l *net.TCPListener, protocol load.Protocol) error {
	f := rawio.Floor{Buffer: floorBuffer, Open: func(*rawio.Conn) func(p []byte) []byte { return answers(protocol) }}
	return f.Serve(l)
}
