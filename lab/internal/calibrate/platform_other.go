//go:build !linux

package calibrate

import (
	"net"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// mostLateAfter is somewhat more than the steps of 15.6 ms in which some systems
// count time.
const mostLateAfter = 20 * time.Millisecond

func newWait() (wait func(time.Duration), done func(), err error) {
	return time.Sleep, func() {}, nil
}

// serveFloor answers each connection on a goroutine of its own until the
// listener fails.
func serveFloor(l *net.TCPListener, protocol load.Protocol) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			answer, buf := answers(protocol), make([]byte, 64<<10)
			for {
				n, err := c.Read(buf)
				if err != nil {
					return
				}
				if _, err := c.Write(answer(buf[:n])); err != nil {
					return
				}
			}
		}()
	}
}
