package rtmp

import (
	"sync"
	"testing"

	"github.com/sluice-go/sluice/mem"
)

// Two ends that each send much more than the sockets hold, and want acknowledgements and answers to
// pings meanwhile, both get everything.
func TestBothEndsSendMuch(t *testing.T) {
	o := Options{WindowAckSize: leastWindow}
	s, c, _ := linkServed(t, Publish, o, o)
	const messages, size = 60, 1 << 20
	var running sync.WaitGroup
	for _, side := range []*linkSide{s, c} {
		running.Go(func() {
			for n := range messages {
				m := Message{Type: TypeVideo, StreamID: 1, Time: uint32(n), Payload: mem.Wrap(make([]byte, size), nil)}
				if err := side.WriteMessage(m); err != nil {
					t.Errorf("message %d: %v", n, err)
					return
				}
				if err := side.Ping(uint32(n)); err != nil {
					t.Errorf("ping %d: %v", n, err)
					return
				}
			}
		})
		running.Go(func() {
			for n := 0; n < messages; {
				m, err := side.ReadMessage()
				if err != nil {
					t.Errorf("after %d messages: %v", n, err)
					return
				}
				if m.Type == TypeVideo {
					if int(m.Time) != n || m.Payload.Len() != size {
						t.Errorf("message %d has time %d and %d bytes", n, m.Time, m.Payload.Len())
					}
					n++
				}
				m.Release()
			}
		})
	}
	running.Wait()
}
