//go:build linux

package relay

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/testcert"
)

// A crossing publishes in real time and watches while servers replace each other.
type crossing struct {
	t     *testing.T
	stop  atomic.Bool
	done  sync.WaitGroup // publishers
	ends  sync.WaitGroup // viewers
	mu    sync.Mutex
	sent  map[string][]rtmpFrame
	got   map[string][]rtmpFrame // by viewer
	of    map[string]string      // stream of the viewer
	count atomic.Int64           // frames that have come to viewers
}

func newCrossing(t *testing.T) *crossing {
	return &crossing{t: t, sent: map[string][]rtmpFrame{}, got: map[string][]rtmpFrame{}, of: map[string]string{}}
}

// ofHeader reports whether a frame is the sequence header of pictures, which recordings wait for.
func ofHeader(f rtmpFrame) bool { return f.Type == flv.TagVideo && f.Body[1] == 0 }

// keyEvery is the distance of key frames.
const keyEvery = 25

// publish publishes a stream until stop: key frames, frames of many sizes.
func (x *crossing) publish(s *relayServer, name string) {
	x.t.Helper()
	push := rtmpPush(x.t, s.Server, "rtmp", "live", name)
	if err := push.send(slices.DeleteFunc(slices.Clone(rtmpClip()[:10]), func(f rtmpFrame) bool { return !ofHeader(f) })); err != nil {
		x.t.Fatal(err)
	}
	began := time.Now()
	x.done.Go(func() {
		var list []rtmpFrame
		for i := 0; !x.stop.Load(); i++ {
			body := make([]byte, 20+rand.IntN(200)*rand.IntN(100))
			body[0] = 0x27
			if i%keyEvery == 0 {
				body[0] = 0x17
			}
			body[1] = 1
			binary.BigEndian.PutUint32(body[5:], uint32(i))
			for k := 9; k < len(body); k++ {
				body[k] = byte(i + k)
			}
			f := rtmpFrame{flv.TagVideo, uint32(time.Since(began).Milliseconds()), string(body)}
			list = append(list, f)
			if err := push.send([]rtmpFrame{f}); err != nil {
				x.t.Errorf("publisher of %s, frame %d: %v", name, i, err)
				break
			}
			time.Sleep(4 * time.Millisecond) // the pace of a publisher: frames come before, in and after the upgrade
		}
		x.mu.Lock()
		x.sent["live/"+name] = list
		x.mu.Unlock()
		// Closing a socket that has something to read resets it, and a busy server would lose
		// what it has not read yet.
		push.conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, push.conn)
		push.conn.Close()
	})
}

// collect takes what a viewer is sent until that ends.
func (x *crossing) collect(who, stream string, next func() (rtmpFrame, error)) {
	x.ends.Go(func() {
		var list []rtmpFrame
		for {
			f, err := next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					x.t.Errorf("%s ended with %v after %d frames", who, err, len(list))
				}
				break
			}
			if f.Type == flv.TagVideo && !ofHeader(f) {
				list = append(list, f)
				x.count.Add(1)
			}
		}
		x.mu.Lock()
		x.got[who], x.of[who] = list, stream
		x.mu.Unlock()
	})
}

// watch adds a viewer of each protocol.
func (x *crossing) watch(s *relayServer, stream string, number int) {
	x.t.Helper()
	for protocol, next := range x.viewers(s, stream, false) {
		x.collect(fmt.Sprintf("%s viewer %d of %s", protocol, number, stream), stream, next)
	}
}

// viewers begins to watch, over TLS if it is to be secure, and returns by protocol what
// returns the next frame.
func (x *crossing) viewers(s *relayServer, stream string, secure bool) map[string]func() (rtmpFrame, error) {
	x.t.Helper()
	setting, scheme, dialer := "rtmp", "ws://"+s.http, *websocket.DefaultDialer
	page := net.Conn(nil)
	var err error
	if secure {
		at := s.Addresses()["https"]
		setting, scheme, dialer.TLSClientConfig = "rtmps", "wss://"+at, testcert.Client(x.t)
		page, err = tls.Dial("tcp", at, testcert.Client(x.t))
	} else {
		page, err = net.Dial("tcp", s.http)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { page.Close() })
	fmt.Fprintf(page, "GET /%s.flv HTTP/1.1\r\nHost: localhost\r\n\r\n", stream)
	resp, err := http.ReadResponse(bufio.NewReader(page), nil)
	if err != nil {
		x.t.Fatal(err)
	}
	r := flvtest.NewReader(resp.Body)
	socket, _, err := dialer.Dial(scheme+"/"+stream+".flv", nil)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { socket.Close() })
	messages := flvtest.NewReader(&socketMessages{socket: socket})
	play := rtmpDial(x.t, s.Server, setting, "live")
	if err := play.c.Play(stream[len("live/"):]); err != nil {
		x.t.Fatal(err)
	}
	sent, pings := 0, 0
	return map[string]func() (rtmpFrame, error){
		"HTTP-FLV": func() (rtmpFrame, error) { return nextFrame(r) },
		"WebSocket": func() (rtmpFrame, error) {
			if sent++; sent%7 == 0 {
				if err := socket.WriteControl(websocket.PingMessage, fmt.Append(nil, sent), time.Now().Add(relayWait)); err != nil {
					x.t.Errorf("ping: %v", err)
				}
			}
			return nextFrame(messages)
		},
		"RTMP": func() (rtmpFrame, error) {
			if pings++; pings%5 == 0 {
				if err := play.c.Ping(uint32(pings)); err != nil {
					x.t.Errorf("ping: %v", err)
				}
			}
			list, code, err := play.receive(1)
			if err == nil && len(list) == 1 {
				return list[0], nil
			}
			if code == "NetStream.Play.Stop" {
				err = io.EOF
			}
			return rtmpFrame{}, err
		},
	}
}

// nextFrame returns the next tag as a frame.
func nextFrame(r *flvtest.Reader) (rtmpFrame, error) {
	g, err := r.Next()
	if err != nil {
		return rtmpFrame{}, err
	}
	return rtmpFrame{g.Type, g.Time, g.Payload}, nil
}

// socketMessages are the binary messages of a WebSocket as one stream.
type socketMessages struct {
	socket *websocket.Conn
	rest   []byte
}

func (m *socketMessages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		_, b, err := m.socket.ReadMessage()
		if err != nil {
			if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				err = io.EOF
			}
			return 0, err
		}
		m.rest = b
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// frames waits until viewers have got n more frames.
func (x *crossing) frames(n int64) {
	x.t.Helper()
	want := x.count.Load() + n
	relayEventually(x.t, "more frames", func() bool { return x.count.Load() >= want })
}

// finish ends the publishers and compares: a viewer has everything from where it began. On
// a machine that is too slow pictures are left out, as ever, up to a key frame.
func (x *crossing) finish() {
	x.t.Helper()
	x.stop.Store(true)
	x.done.Wait()
	x.ends.Wait()
	for who, got := range x.got {
		sent := x.sent[x.of[who]]
		if len(got) == 0 {
			x.t.Errorf("%s got nothing", who)
			continue
		}
		next := -1
		for i, f := range got {
			n := int(binary.BigEndian.Uint32([]byte(f.Body[5:9])))
			switch {
			case n >= len(sent) || n < next || f != sent[n]:
				x.t.Errorf("%s: frame %d is number %d at %d with %d bytes, after number %d", who, i, n, f.Time, len(f.Body), next-1)
			case n > next && f.Body[0] != 0x17:
				x.t.Errorf("%s: frames %d to %d are missing, and %d is no key frame", who, next, n-1, n)
			default:
				next = n + 1
				continue
			}
			break
		}
		if len(sent)-next >= keyEvery {
			x.t.Errorf("%s: the last frame is %d of %d", who, next-1, len(sent))
		}
	}
}

func TestUpgradeCarriesSessions(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.RTMP, c.Grace = "127.0.0.1:0", 0 })
	x := newCrossing(t)
	for _, name := range []string{"a", "b"} {
		x.publish(s, name)
		relayEventually(t, "the stream", func() bool { _, ok := s.host.Hub.Stream("live/" + name); return ok })
		for number := range 2 {
			x.watch(s, "live/"+name, number)
		}
		s.viewersOf(t, "live/"+name, 6)
	}
	ids := func() string {
		text := ""
		for _, c := range s.host.Register.List() {
			text += fmt.Sprintln(c.ID, c.Stream, c.Protocol, c.Address)
		}
		return text
	}
	before := ids()
	x.frames(200)
	for range 3 {
		s = upgradeRelay(t, s)
		if after := ids(); after != before {
			t.Errorf("sessions are\n%s, were\n%s", after, before)
		}
		x.frames(200)
		if usage := s.host.Gate.Usage(); usage.Viewers != 12 || usage.Streams != 2 {
			t.Errorf("%+v", usage)
		}
	}
	x.finish()
	relayEventually(t, "the end of all sessions", func() bool {
		usage := s.host.Gate.Usage()
		return len(s.host.Register.List()) == 0 && usage.Viewers == 0 && usage.Streams == 0
	})
}

// Whatever the successor does wrong, viewers lose nothing.
func TestUpgradeThatFailsCostsViewersNothing(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.RTMP, c.Grace = "127.0.0.1:0", 0 })
	x := newCrossing(t)
	x.publish(s, "a")
	relayEventually(t, "the stream", func() bool { _, ok := s.host.Hub.Stream("live/a"); return ok })
	x.watch(s, "live/a", 0)
	x.watch(s, "live/a", 1)
	s.viewersOf(t, "live/a", 6)
	x.frames(50)
	for _, until := range []handover.Kind{handover.KindStream, handover.KindSession, handover.KindWhole} {
		from, c, given := s.inherited(t, "faulty")
		c.Within(relayWait)
		if err := c.Send(handover.KindReady, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		for {
			m, err := c.Receive()
			if err != nil { // it gave up before, on a busy machine
				break
			}
			if m.File != nil {
				m.File.Close()
			}
			if m.Kind == until {
				break
			}
		}
		if until == handover.KindWhole { // it hangs until the old one gives it up
			if err := <-given; err == nil {
				t.Error("no error")
			}
			if err := c.Send(handover.KindTaken, nil, nil, nil); err == nil {
				t.Error("it can still take over")
			}
			from.Close()
		} else {
			from.Close()
			if err := <-given; err == nil {
				t.Error("no error")
			}
		}
		x.frames(50)
	}
	// One that takes everything in, and is then ended before it says so.
	from, c, given := s.inherited(t, "killed")
	next, err := New(*s.host.Config(), Options{Given: from.Take, Successor: true, times: s.host.Times})
	if err == nil {
		err = next.Listen()
	}
	if err == nil {
		c.Within(relayWait)
		err = c.Send(handover.KindReady, nil, nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := next.upgrades.receive(c)
	if err == nil && (got.publishers() != 1 || got.viewers() != 6) {
		t.Errorf("%d publishers, %d viewers, %v", got.publishers(), got.viewers(), err)
	}
	got.drop()
	next.Close()
	from.Close()
	if err := <-given; err == nil {
		t.Error("no error")
	}
	x.frames(50)
	s = upgradeRelay(t, s)
	x.frames(50)
	if status, _ := s.get(t, "/healthz"); status != http.StatusOK {
		t.Error(status)
	}
	x.finish()
}
