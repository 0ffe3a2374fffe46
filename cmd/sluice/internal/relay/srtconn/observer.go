package srtconn

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	srt "github.com/datarhei/gosrt"
	"github.com/datarhei/gosrt/packet"
)

// An observer is a Logger of the library that sees how a call of its Dial fails. Each such
// call would leave a goroutine behind for ever: when Dial closes its socket, the goroutine that
// reads it waits for a receiver of its error, which Close is only if the goroutine was faster. So
// Close is held up until it has noticed the end by its deadline.
type observer struct {
	rejected  chan string   // why
	failed    chan struct{} // Dial is about to return an error
	connected atomic.Bool
}

func newObserver() *observer {
	return &observer{rejected: make(chan string, 1), failed: make(chan struct{}, 1)}
}

// socketDeadline is more than the library's for one read of its socket.
const socketDeadline = 3*time.Second + 200*time.Millisecond

var handshakeType = regexp.MustCompile(`handshakeType: (0x[0-9a-f]{1,8}) \((.{1,60})\)`)

// Print implements srt.Logger. The library calls it from where it logs, which holds no lock.
func (o *observer) Print(topic string, _ uint32, _ int, message func() string) {
	switch topic {
	case "handshake:recv:cif":
		o.answer(message())
	case "dial":
		if !o.connected.Load() && message() == "closing socket" {
			select {
			case o.failed <- struct{}{}:
			default:
			}
			<-time.After(socketDeadline)
		}
	}
}

// answer looks at the text of an answer.
func (o *observer) answer(text string) {
	m := handshakeType.FindStringSubmatch(text)
	if m == nil {
		return
	}
	kind, err := strconv.ParseUint(m[1], 0, 32)
	if err != nil || packet.HandshakeType(kind).IsHandshake() {
		return
	}
	why := m[2]
	if strings.HasPrefix(why, "REJECT") { // one of access control, of which the library knows no names
		why = fmt.Sprintf("code %d", kind)
	}
	select {
	case o.rejected <- why:
	default:
	}
}

// HasTopic implements srt.Logger.
func (*observer) HasTopic(string) bool { return false }

// Listen implements srt.Logger.
func (*observer) Listen() <-chan srt.Log { return nil }

// Close implements srt.Logger.
func (*observer) Close() {}
