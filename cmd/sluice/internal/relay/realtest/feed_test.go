//go:build linux

package realtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// A sender publishes tags, over whatever.
type sender interface{ send(tag) error }

// A feed publishes the clip again and again and remembers every packet. Its
// times go on from one round to the next, so every packet is another one.
type feed struct {
	mu   sync.Mutex
	sent []digest

	halt chan struct{}
	once sync.Once
	done chan struct{}
	err  error // after done
}

// pace says how a feed publishes.
type pace struct {
	unpaced bool   // as fast as the server takes it, not in real time
	rounds  int    // of the clip, 0: until it is stopped
	pad     int    // bytes that each picture gets more
	begin   uint32 // ms, the time of the first packet
	back    bool   // each round begins at the first one's times
	// hold, unless it is nil, is awaited behind the first packets, lead of them: they are in one
	// group of pictures, which a viewer who is late has whole.
	hold <-chan struct{}
}

// lead is how many packets of picture and sound a feed that is held sends first.
const lead = 40

// feedTo starts to publish. The feed is stopped when the test ends, if not before.
func feedTo(t testing.TB, to sender, how pace) *feed {
	t.Helper()
	f := &feed{halt: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.err = f.run(to, how)
	}()
	t.Cleanup(f.stop)
	return f
}

func (f *feed) run(to sender, how pace) error {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for round := 0; how.rounds == 0 || round < how.rounds; round++ {
		for _, g := range clip() {
			if round > 0 && !g.media() || g.end() {
				continue // once is enough, and the sequence does not end
			}
			shift := uint32(round * clipMS)
			if how.hold != nil && len(f.published()) == lead {
				select {
				case <-how.hold:
					began = time.Now().Add(-time.Duration(g.Time+shift) * time.Millisecond)
				case <-f.halt:
					return nil
				}
				how.hold = nil
			}
			if !how.unpaced {
				timer.Reset(time.Until(began.Add(time.Duration(g.Time+shift) * time.Millisecond)))
				select {
				case <-timer.C:
				case <-f.halt:
					return nil
				}
			}
			g.Time += how.begin
			if !how.back {
				g.Time += shift
			}
			if how.pad > 0 && g.Type == tagVideo && g.media() {
				g.Data = padded(g.Data, how.pad)
			}
			select {
			case <-f.halt:
				return nil
			default:
			}
			// A viewer may have it before send returns.
			f.mu.Lock()
			if g.media() {
				f.sent = append(f.sent, g.digest())
			}
			f.mu.Unlock()
			if err := to.send(g); err != nil {
				return fmt.Errorf("publishing %+v: %w", g.digest(), err)
			}
		}
	}
	return nil
}

// stop stops publishing; the connection stays open.
func (f *feed) stop() {
	f.once.Do(func() { close(f.halt) })
}

// finish stops and fails the test when publishing has failed. It returns what
// was published.
func (f *feed) finish(t testing.TB) []digest {
	t.Helper()
	f.stop()
	receive(t, lengthened(10*time.Second), "end of the publisher", f.done)
	if f.err != nil {
		t.Errorf("the publisher: %v", f.err)
	}
	return f.published()
}

func (f *feed) published() []digest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sent)
}

// padded appends to a picture a unit of filler data (H.264, section 7.3.2.7),
// which every decoder skips.
func padded(p []byte, n int) []byte {
	n = max(n, 6)
	p = binary.BigEndian.AppendUint32(slices.Clone(p), uint32(n-4))
	p = append(p, 12)
	p = append(p, bytes.Repeat([]byte{0xff}, n-6)...)
	return append(p, 0x80)
}

// heavy pads the clip to about 2 Mbit/s.
const heavy = 4600

// A viewer is a client that plays.
type viewer struct {
	*collected
	name  string
	conn  net.Conn
	pause chan struct{} // closed to make it stop reading
}

// pausable stops yielding when it is paused, and then never goes on.
type pausable struct {
	src   tagSource
	pause chan struct{}
}

func (p pausable) next() (tag, error) {
	select {
	case <-p.pause:
		return tag{}, errPaused
	default:
		return p.src.next()
	}
}

var errPaused = fmt.Errorf("the viewer has stopped reading")

// view starts a viewer: flv, ws or rtmp, with an s behind it over TLS. A query
// follows the stream's name. What it is refused with is its failure.
func (s *server) view(t testing.TB, way, name, query string) *viewer {
	t.Helper()
	if query != "" {
		query = "?" + query
	}
	address := map[string]string{"flv": s.HTTP, "ws": s.HTTP, "rtmp": s.RTMP, "flvs": s.HTTPS, "wss": s.HTTPS, "rtmps": s.RTMPS}[way]
	if address == "" {
		t.Fatalf("no way to play is called %s, or this server does not have it", way)
	}
	conn := dial(t, address, way == "flvs" || way == "wss" || way == "rtmps")
	pause := make(chan struct{})
	open := func() (src tagSource, err error) {
		switch way {
		case "flv", "flvs":
			src, err = playHTTP(conn, "/live/"+name+".flv"+query)
		case "ws", "wss":
			src, err = playWebSocket(conn, "/live/"+name+".flv"+query)
		default:
			src, err = playRTMP(conn, "live", name+query)
		}
		return pausable{src, pause}, err
	}
	return &viewer{
		collected: collect(open),
		name:      fmt.Sprintf("%s viewer %s", way, conn.LocalAddr()),
		conn:      conn,
		pause:     pause,
	}
}

// awaitEOF waits until the server has ended the stream, between two tags.
func (v *viewer) awaitEOF(t testing.TB) {
	t.Helper()
	receive(t, lengthened(20*time.Second), "end of "+v.name, v.done)
	if err := v.failure(); err != io.EOF {
		t.Errorf("%s ended with %v, want the end between two tags", v.name, err)
	}
}

// awaitMedia waits until the viewer has got n packets.
func (v *viewer) awaitMedia(t testing.TB, n int) {
	t.Helper()
	eventually(t, lengthened(10*time.Second), func() string {
		if got := len(v.media()); got < n {
			return fmt.Sprintf("%s has %d packets, should have %d: %v", v.name, got, n, v.failure())
		}
		return ""
	})
}

// awaitLast waits until the viewer has got the packet.
func (v *viewer) awaitLast(t testing.TB, last digest) {
	t.Helper()
	eventually(t, lengthened(10*time.Second), func() string {
		got, _ := v.last()
		if got != last {
			return fmt.Sprintf("%s has %+v, the last one published is %+v: %v", v.name, got, last, v.failure())
		}
		return ""
	})
}

// awaitEnd waits until the connection has ended, whatever is still in it.
func (v *viewer) awaitEnd(t testing.TB) {
	t.Helper()
	until(v.conn, lengthened(10*time.Second))
	if n, err := io.Copy(io.Discard, v.conn); isTimeout(err) {
		t.Errorf("%s is still connected, after %d bytes more", v.name, n)
	}
}
