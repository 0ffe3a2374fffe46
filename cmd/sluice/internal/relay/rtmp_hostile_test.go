package relay

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtmpserver"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
	"github.com/sluice-go/sluice/sluicetest"
)

// rtmpHurried is a server with a very short time limit for the first request.
func rtmpHurried(c *relayConfig) { c.times.Header = 200 * time.Millisecond }

// rtmpQuiet is how long a connection may be silent while others wait, where tests await
// that such ones give way: not so short that one that is slow does.
const rtmpQuiet = time.Second

// rtmpStrict is a server that looks often at what it is sent.
func rtmpStrict(c *relayConfig) {
	c.times.Silence, c.times.Rate = 300*time.Millisecond, 300*time.Millisecond
}

// rtmpHandshake is what a client sends before its first message: the version, its
// part and an echo that is not checked.
func rtmpHandshake() []byte {
	p := make([]byte, 1+1536+1536)
	p[0] = 3
	return p
}

// Connections that do not come to the point are closed when their time is over,
// however they fill it.
func TestRTMPNobodyHoldsAConnectionForNothing(t *testing.T) {
	seed := sluicetest.Seed(t)
	long := rtmp.AppendChunkHeader(nil, 3, rtmp.TypeCommandAMF0, 0, 0, 1<<24-1)
	var many []byte
	for i := range uint32(1000) {
		many = append(rtmp.AppendChunkHeader(many, 64+i, rtmp.TypeVideo, 0, 0, 1<<24-1), 0)
	}
	size := binary.BigEndian.AppendUint32(rtmp.AppendChunkHeader(nil, 2, rtmp.TypeSetChunkSize, 0, 0, 4), 1<<31-1)
	noise := make([]byte, 100_000)
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	random.Read(noise)
	for name, sent := range map[string][]byte{
		"silence":                 nil,
		"one byte":                {3},
		"half a handshake":        rtmpHandshake()[:1000],
		"a handshake":             rtmpHandshake(),
		"noise":                   noise,
		"noise after a handshake": append(rtmpHandshake(), noise...),
		"a long message":          append(rtmpHandshake(), long...),
		"many long messages":      append(rtmpHandshake(), many...),
		"long chunks":             append(append(rtmpHandshake(), size...), long...),
		"HTTP":                    []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
	} {
		for _, slowly := range []bool{false, true} {
			t.Run(rtmpCut(name), func(t *testing.T) {
				s := rtmpServe(t, rtmpHurried)
				x := rtmpRaw(t, s, "rtmp")
				var writing sync.WaitGroup
				writing.Go(func() {
					if !slowly {
						x.conn.Write(sent)
						return
					}
					// One byte at a time, for as long as the server listens.
					for i := 0; ; i++ {
						b := byte(0)
						if i < len(sent) {
							b = sent[i]
						}
						if _, err := x.conn.Write([]byte{b}); err != nil {
							return
						}
						<-time.After(5 * time.Millisecond)
					}
				})
				began := time.Now()
				_, _ = io.Copy(io.Discard, x.conn) // until the server closes it
				if d := time.Since(began); d > rtmpTimeout/2 {
					t.Errorf("closed after %v", d)
				}
				x.conn.Close()
				writing.Wait()
				rtmpUntil(t, "nobody is in a handshake", func() bool { return s.rtmp.Arrivals.Stats().On == 0 })
			})
		}
	}
}

func TestRTMPTLSWithoutAHandshake(t *testing.T) {
	s := rtmpServe(t, rtmpHurried)
	for _, sent := range [][]byte{nil, {22, 3, 1}, rtmpHandshake()} {
		conn, err := net.Dial("tcp", s.Addresses()["rtmps"])
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(rtmpTimeout))
		conn.Write(sent)
		_, err = io.Copy(io.Discard, conn)
		if n, ok := err.(net.Error); ok && n.Timeout() {
			t.Errorf("after %x the connection stays open", sent[:min(len(sent), 4)])
		}
		conn.Close()
	}
}

func TestRTMPIdlePublisherIsDropped(t *testing.T) {
	for name, goOn := range map[string]func(x *rtmpClient) error{
		"silence": nil,
		"a byte at a time": func(x *rtmpClient) error {
			_, err := x.conn.Write([]byte{0})
			return err
		},
		"pings and no frames": func(x *rtmpClient) error { return x.c.Ping(1) },
	} {
		t.Run(rtmpCut(name), func(t *testing.T) {
			s := rtmpServe(t, rtmpStrict)
			x := rtmpPush(t, s, "rtmp", "live", "s")
			// On a busy machine this comes too late, and the server has said so already.
			_ = x.send(rtmpClip()[:5])
			if name == "a byte at a time" {
				// A message that never ends.
				_, _ = x.conn.Write(rtmp.AppendChunkHeader(nil, 9, rtmp.TypeVideo, 1, 0, 1<<20))
			}
			var writing sync.WaitGroup
			writing.Go(func() {
				for goOn != nil {
					// 2.5 bytes a second and 18 pings; 10 bytes are the least.
					pause := 400 * time.Millisecond
					if name == "pings and no frames" {
						pause = 55 * time.Millisecond
					}
					<-time.After(pause)
					if goOn(x) != nil {
						return
					}
				}
			})
			_, code, _ := x.receive(1)
			if code != rtmp.PublishBadName {
				t.Errorf("the publisher is told %q", code)
			}
			x.conn.Close()
			writing.Wait()
			rtmpUntil(t, "the stream is over", func() bool { _, ok := s.host.Hub.Stream("live/s"); return !ok })
		})
	}
}

// A publisher may wait between frames for less than the window, and a viewer
// may be silent for ever.
func TestRTMPSilentViewerIsLeftAlone(t *testing.T) {
	rtmpWays(t, func(t *testing.T, way string) {
		lengthening(t, time.Second, func(t *testing.T, window time.Duration) bool { return rtmpSilent(t, way, window) })
	})
}

// rtmpSilent does that, and reports false when the machine stood still for the window.
func rtmpSilent(t *testing.T, way string, window time.Duration) bool {
	s := rtmpServe(t, func(c *relayConfig) { c.times.Silence, c.times.Rate = window, window })
	p := rtmpPush(t, s, way, "live", "s")
	latest, longest := time.Now(), time.Duration(0)
	send := func(frames []rtmpFrame) error {
		longest = max(longest, time.Since(latest))
		err := p.send(frames)
		longest, latest = max(longest, time.Since(latest)), time.Now()
		return err
	}
	late := func(err error) bool {
		if longest = max(longest, time.Since(latest)); longest < window/2 {
			t.Fatalf("%v, and it was sent to each %v at least", err, longest)
		}
		return true
	}
	clip := rtmpClip()
	if err := send(clip[:3]); err != nil {
		return !late(err)
	}
	v := rtmpDial(t, s, way, "live")
	if err := v.c.Play("s"); err != nil {
		return !late(err)
	}
	for i := 3; i < 53; i++ {
		<-time.After(window * 3 / 100)
		if err := send(clip[i : i+1]); err != nil {
			return !late(err)
		}
	}
	frames, _, err := v.receive(53)
	if err != nil {
		return !late(err)
	}
	rtmpCompare(t, "viewer", frames, clip[:53])
	return true
}

func TestRTMPViewerWhoFloodsIsClosed(t *testing.T) {
	for name, message := range map[string][]byte{
		"frames":                   append(rtmp.AppendChunkHeader(nil, 4, rtmp.TypeAudio, 1, 0, 100), make([]byte, 100)...),
		"messages of the protocol": append(rtmp.AppendChunkHeader(nil, 2, rtmp.TypeAcknowledgement, 0, 0, 4), 0, 0, 0, 1),
		"pings":                    append(rtmp.AppendChunkHeader(nil, 2, rtmp.TypeUserControl, 0, 0, 6), 0, 6, 0, 0, 0, 1),
		"calls":                    append(rtmp.AppendChunkHeader(nil, 3, rtmp.TypeCommandAMF0, 1, 0, 16), "\x02\x00\x04call\x00\x3f\xf0\x00\x00\x00\x00\x00\x00"...),
	} {
		t.Run(rtmpCut(name), func(t *testing.T) {
			// The stream has lost its publisher: nothing else ends the viewer.
			s := rtmpServe(t, func(c *relayConfig) { c.Grace = relayWait })
			p := rtmpPush(t, s, "rtmp", "live", "s")
			if err := p.send(rtmpClip()[:10]); err != nil {
				t.Fatal(err)
			}
			p.close()
			v := rtmpDial(t, s, "rtmp", "live")
			if err := v.c.Play("s"); err != nil {
				t.Fatal(err)
			}
			var reading sync.WaitGroup
			if name != "pings" { // whose answers are not read
				reading.Go(func() { io.Copy(io.Discard, v.conn) })
			}
			flood := bytes.Repeat(message, 1+session.ViewerBytes/len(message))
			for end := time.Now().Add(rtmpTimeout); ; {
				if _, err := v.conn.Write(flood); err != nil {
					break
				}
				if time.Now().After(end) {
					t.Error("nobody minds")
					break
				}
			}
			rtmpUntil(t, "the viewer is closed", func() bool { return s.host.Register.Number(session.RoleViewer) == 0 })
			v.conn.Close()
			reading.Wait()
		})
	}
}

// A peer that stays after it was refused is closed, with a goodbye in TLS.
func TestRTMPRefusedPeerDoesNotStay(t *testing.T) {
	rtmpWays(t, func(t *testing.T, way string) {
		s := rtmpServe(t, nil)
		rtmpPush(t, s, "rtmp", "live", "taken")
		for _, ask := range []func(x *rtmpClient) error{
			func(x *rtmpClient) error { return x.c.Play("nothing") },
			func(x *rtmpClient) error { return x.c.Publish("taken?key=other") },
		} {
			x := rtmpDial(t, s, way, "live")
			if err := ask(x); err == nil {
				t.Error("it is accepted")
			}
			if n, err := io.Copy(io.Discard, x.conn); err != nil {
				t.Errorf("after %d bytes: %v", n, err)
			}
		}
	})
}

// Silent connections, however many, do not keep publishers out: not those of
// other addresses, and not those of their own.
func TestRTMPSilentConnectionsKeepNobodyOut(t *testing.T) {
	s := rtmpServe(t, func(c *relayConfig) { c.MaxHandshakes, c.MaxHandshakesPerAddress = 64, 32 })
	address := s.Addresses()["rtmp"]
	for _, ip := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.1"} {
		for range 64 {
			conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).Dial("tcp", address)
			if err != nil {
				t.Skipf("no second address on the loopback interface: %v", err)
			}
			defer conn.Close()
		}
	}
	rtmpUntil(t, "all places are taken", func() bool {
		got := s.rtmp.Arrivals.Stats()
		return got.On == 64 && got.On+got.Waiting == 3*64
	})
	s.rtmp.Arrivals.SetQuiet(rtmpQuiet)
	p := rtmpPush(t, s, "rtmp", "live", "s") // before the time of the silent ones is over
	if err := p.send(rtmpClip()[:2]); err != nil {
		t.Error(err)
	}
	if got := s.rtmp.Arrivals.Stats(); got.GaveWay == 0 || got.On > 64 {
		t.Errorf("%+v", got)
	}
}

// A burst of viewers waits for places, and all are served.
func TestRTMPBurstOfViewersIsServed(t *testing.T) {
	const viewers = 600
	s := rtmpServe(t, func(c *relayConfig) { c.MaxHandshakes, c.MaxHandshakesPerAddress = 32, 16 })
	p := rtmpPush(t, s, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:5]); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range viewers {
		all.Go(func() {
			conn, err := net.Dial("tcp", s.Addresses()["rtmp"])
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(rtmpTimeout))
			x := rtmpClientOn(t, conn)
			if err := x.c.ClientHandshake(); err != nil {
				t.Error(err)
				return
			}
			if err := x.c.Connect(rtmp.ConnectOptions{App: "live"}); err != nil {
				t.Error(err)
				return
			}
			if err := x.c.Play("s"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Many connections that are no good cost little memory.
func TestRTMPHostileConnectionsAreCheap(t *testing.T) {
	const connections = 300
	s := rtmpServe(t, func(c *relayConfig) { c.MaxHandshakesPerAddress = connections })
	s.host.Alloc.SetLeak(mem.LeakOff) // the stacks that it keeps are more than all else
	sent := rtmpHandshake()
	for i := range uint32(30) {
		sent = append(rtmp.AppendChunkHeader(sent, 3+i, rtmp.TypeCommandAMF0, 0, 0, rtmpserver.MaxCommand), make([]byte, 128)...)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range connections {
		x := rtmpRaw(t, s, "rtmp")
		if _, err := x.conn.Write(sent); err != nil {
			t.Fatal(err)
		}
	}
	rtmpUntil(t, "all are read", func() bool { return s.rtmp.Arrivals.Stats().On == connections })
	runtime.GC()
	runtime.GC() // caches are let go by the second
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)
	t.Logf("%d connections hold %d KiB", connections, grown>>10)
	// Half of it is the test's.
	if grown > 20<<20 {
		t.Errorf("memory has grown by %d KiB", grown>>10)
	}
}
