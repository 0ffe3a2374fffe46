package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/tsmedia"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// srtUnit is a unit of media as these tests compare it.
type srtUnit struct {
	video, key bool
	media      string
}

// srtRounds is how often the clip comes in srtClip, one behind the other.
const srtRounds = 4

// srtClip is the clip, as units and as a transport stream of each, from its first key
// frame on. It has so many units in one round.
var srtClip = sync.OnceValue(func() (c struct {
	units []srtUnit
	ts    [][]byte
	times []uint32
	round int
}) {
	var s au.Splitter
	var m *tsmedia.Muxer
	for round := range uint32(srtRounds) {
		for tag := range au.Tags(flvclip.File) {
			u, ok, err := s.Split(tag.Type, tag.Time, tag.Body)
			if err != nil {
				panic(err)
			}
			if !ok || m == nil && !(u.Video && u.Key) {
				continue
			}
			if m == nil {
				video, audio := s.Configs()
				if m, _, err = tsmedia.New(video, audio); err != nil {
					panic(err)
				}
			}
			u.Time += round * 11_000
			p, err := m.Append(&u)
			if err != nil {
				panic(err)
			}
			c.ts, c.times = append(c.ts, bytes.Clone(p)), append(c.times, u.Time)
			c.units = append(c.units, srtMedia(&u))
		}
	}
	c.round = len(c.units) / srtRounds
	return c
})

// srtMedia is a unit without what a transport stream adds to it.
func srtMedia(u *au.Unit) srtUnit {
	var media []byte
	for _, p := range u.Parts {
		if !u.Video || !au.IsSet(u.Codec, p) && au.NALType(u.Codec, p) != 9 {
			media = append(media, p...)
		}
	}
	return srtUnit{u.Video, u.Key, string(media)}
}

// srtDial connects to a server, or to a proxy before it.
func srtDial(t *testing.T, address, id string, change func(*srt.Config)) (srt.Conn, error) {
	t.Helper()
	c := srt.DefaultConfig()
	c.StreamId = id
	c.ReceiverLatency, c.PeerLatency = time.Second, time.Second // more than a busy machine stands still
	c.ConnectionTimeout, c.PeerIdleTimeout = relayWait, relayWait
	if change != nil {
		change(&c)
	}
	// The library's own Dial leaves a goroutine when the call is rejected, which begins at
	// the end of its timeout: in the middle of another test that counts them.
	conn, err := srtconn.Dial(context.Background(), address, c)
	if err == nil {
		t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

// srtShort is the latency that the protocol is measured with.
func srtShort(c *srt.Config) {
	c.ReceiverLatency, c.PeerLatency = 200*time.Millisecond, 200*time.Millisecond
}

// srtConnect is srtDial without an error.
func srtConnect(t *testing.T, address, id string, change func(*srt.Config)) srt.Conn {
	t.Helper()
	conn, err := srtDial(t, address, id, change)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return conn
}

// srtSend sends units of the clip from one to another, at so many times their own pace.
func srtSend(conn srt.Conn, from, to int, pace int) error {
	c := srtClip()
	began := time.Now()
	for i := from; i < to; i++ {
		if pace > 0 {
			at := began.Add(time.Duration(int32(c.times[i]-c.times[from])) * time.Millisecond / time.Duration(pace))
			if wait := time.Until(at); wait > 0 {
				<-time.After(wait)
			}
		}
		for p := c.ts[i]; len(p) > 0; {
			n := min(len(p), 7*188)
			if _, err := conn.Write(p[:n]); err != nil {
				return err
			}
			p = p[n:]
		}
	}
	return nil
}

// An srtFeed publishes the clip. A machine that stands still for a second loses what is on its
// way: who waits for something sends more meanwhile.
type srtFeed struct {
	t    *testing.T
	conn srt.Conn
	next int // unit
}

// srtPublish publishes a stream until it has more than so many frames.
func (s *relayServer) srtPublish(t *testing.T, conn srt.Conn, stream string, frames int64) *srtFeed {
	t.Helper()
	f := &srtFeed{t, conn, 60}
	if err := srtSend(conn, 0, f.next, 8); err != nil {
		t.Fatal(err)
	}
	relayEventually(t, stream+" is there", func() bool {
		st, ok := s.host.Hub.Stream(stream)
		if ok && st.Stats().FramesIn > frames {
			return true
		}
		f.more()
		return false
	})
	return f
}

// more sends the next unit.
func (f *srtFeed) more() {
	f.t.Helper()
	if f.next == len(srtClip().ts) {
		return
	}
	if err := srtSend(f.conn, f.next, f.next+1, 0); err != nil {
		f.t.Fatal(err)
	}
	f.next++
}

// srtSink collects what comes over a connection.
type srtSink struct {
	mu    sync.Mutex
	units []srtUnit
	err   error
	done  chan struct{}
}

// srtSinkMemory is that of sinks: a server looks for leaks in its own while they still read.
var srtSinkMemory = mem.New(mem.Options{Name: "sinks of SRT"})

// srtReceive reads a connection to its end.
func srtReceive(conn srt.Conn) *srtSink {
	k := &srtSink{done: make(chan struct{})}
	go func() {
		defer close(k.done)
		var s au.Splitter
		err := tsmedia.Read(conn, tsmedia.Options{Alloc: srtSinkMemory, MaxFrame: 8 << 20, Publish: func(f live.Frame) error {
			defer f.Payload.Release()
			u, ok, err := s.Split(f.Type, f.Time, f.Payload.Bytes())
			if err == nil && ok {
				k.mu.Lock()
				k.units = append(k.units, srtMedia(&u))
				k.mu.Unlock()
			}
			return err
		}})
		k.mu.Lock()
		k.err = err
		k.mu.Unlock()
	}()
	return k
}

func (k *srtSink) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.units)
}

// kinds returns what came, by track.
func (k *srtSink) kinds() (video, audio []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return srtKinds(k.units)
}

func srtKinds(units []srtUnit) (video, audio []string) {
	for _, u := range units {
		if u.video {
			video = append(video, u.media)
		} else {
			audio = append(audio, u.media)
		}
	}
	return video, audio
}

// srtSame compares what came with what was sent. A machine that stands still for a second
// loses some on its way, and much when it does so again and again: what came must be in the
// same order, and more than a few.
func srtSame(t *testing.T, what string, got, want []string) {
	t.Helper()
	at, missing := 0, 0
	for i, g := range got {
		n := slices.Index(want[at:], g)
		if n < 0 {
			t.Errorf("%s: %d of %d is not what was sent", what, i, len(got))
			return
		}
		missing += n
		at += n + 1
	}
	if missing > 0 {
		t.Logf("%s: %d of %d are missing", what, missing, len(want))
	}
	if len(got) < min(len(want)/2, 20) {
		t.Errorf("%s: %d of %d", what, len(got), len(want))
	}
}

// srtProxy passes datagrams on between clients and a server, loses some and delays all.
type srtProxy struct {
	front *net.UDPConn
	lost  atomic.Int64
	all   atomic.Int64
	work  sync.WaitGroup
}

// srtPath says when a datagram of so many bytes arrives, and whether it does.
type srtPath func(n int) (at time.Time, ok bool)

// srtLossy starts a proxy that loses so many percent each way once a connection has been
// made, and takes delay for each datagram.
func srtLossy(t *testing.T, to string, percent int, delay time.Duration) *srtProxy {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	var mu sync.Mutex
	path := func(int) (time.Time, bool) {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(delay), r.IntN(100) >= percent
	}
	return srtLine(t, to, path, path)
}

// srtNarrow starts a proxy with a narrow path to the client.
func srtNarrow(t *testing.T, to string, rate float64, queue time.Duration) *srtProxy {
	t.Helper()
	return srtLine(t, to, func(int) (time.Time, bool) { return time.Now(), true }, narrow(rate, queue))
}

// narrow is a path that carries so many bytes a second, and loses what would have to wait for
// longer than queue.
func narrow(rate float64, queue time.Duration) srtPath {
	var mu sync.Mutex
	var free time.Time // when the line has sent all
	return func(n int) (time.Time, bool) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if free.Sub(now) > queue {
			return now, false
		}
		if free.Before(now) {
			free = now
		}
		const headers = 28 // of IP and UDP
		free = free.Add(time.Duration(float64(n+headers) / rate * float64(time.Second)))
		return free, true
	}
}

// srtLine starts a proxy with a path to the server and one back. Handshakes are not lost.
func srtLine(t *testing.T, to string, there, back srtPath) *srtProxy {
	t.Helper()
	server, err := net.ResolveUDPAddr("udp", to)
	if err != nil {
		t.Fatal(err)
	}
	x := &srtProxy{}
	if x.front, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	var rear *net.UDPConn // one client is enough
	if rear, err = net.DialUDP("udp", nil, server); err != nil {
		t.Fatal(err)
	}
	x.front.SetReadBuffer(4 << 20)
	rear.SetReadBuffer(4 << 20)
	var client atomic.Pointer[net.UDPAddr]
	pass := func(path srtPath, from *net.UDPConn, to func([]byte), heard func(*net.UDPAddr)) {
		type late struct {
			at time.Time
			p  []byte
		}
		queue := make(chan late, 1<<16)
		x.work.Go(func() {
			for l := range queue {
				if wait := time.Until(l.at); wait > 0 {
					<-time.After(wait)
				}
				to(l.p)
			}
		})
		x.work.Go(func() {
			defer close(queue)
			room := make([]byte, 2048)
			for {
				n, addr, err := from.ReadFromUDP(room)
				if errors.Is(err, net.ErrClosed) {
					return
				}
				if err != nil {
					continue // refused for now
				}
				heard(addr)
				x.all.Add(1)
				at, ok := path(n)
				if !ok && !(n > 1 && room[0] == 0x80 && room[1] == 0) {
					x.lost.Add(1)
					continue
				}
				queue <- late{at, bytes.Clone(room[:n])}
			}
		})
	}
	pass(there, x.front, func(p []byte) { rear.Write(p) }, func(a *net.UDPAddr) { client.Store(a) })
	pass(back, rear, func(p []byte) { x.front.WriteToUDP(p, client.Load()) }, func(*net.UDPAddr) {})
	t.Cleanup(func() {
		x.front.Close()
		rear.Close()
		x.work.Wait()
	})
	return x
}

func (x *srtProxy) address() string { return x.front.LocalAddr().String() }

// srtEnded reports whether a connection ends.
func srtEnded(t *testing.T, conn srt.Conn) bool {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, conn)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(relayWait):
		return false
	}
}
