package memory

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// What lies unread in the kernel counts: new publishers are refused for it, until
// it has been read.
func TestReceiveQueuesCount(t *testing.T) {
	unread := int64(0)
	hub, writer := live.NewHub(live.HubOptions{}), live.NewWriter(live.WriterOptions{})
	defer hub.Close()
	defer writer.Close()
	k := New(Options{Most: 64 << 20, Alloc: mem.Default(), Hubs: []*live.Hub{hub}, Writer: writer, Unread: func(int64) int64 { return unread }, Relieve: func(time.Time) {}, Logger: slog.New(slog.DiscardHandler)})
	now := time.Now()
	step := func() {
		now = now.Add(unreadEvery)
		k.step(now)
	}
	if step(); k.Admit() != nil {
		t.Errorf("an idle server: %v", k.Admit())
	}
	unread = 30 << 20 // the kernel uses up to twice as much for it
	if step(); !errors.Is(k.Admit(), session.ErrFull) {
		t.Errorf("60 MiB of 64 are used: %v", k.Admit())
	}
	if used := k.Used(); used < 60<<20 || used > 64<<20 {
		t.Errorf("60 MiB are used, it says %d bytes", used)
	}
	unread = 1 << 20
	if step(); k.Admit() != nil {
		t.Errorf("it was read: %v", k.Admit())
	}
}

// Publishers that come all at once have little in their rings yet, and would all be let in.
func TestACrowdOfPublishersIsBounded(t *testing.T) {
	hub, writer := live.NewHub(live.HubOptions{Memory: RingShare(64 << 20)}), live.NewWriter(live.WriterOptions{})
	defer hub.Close()
	defer writer.Close()
	k := New(Options{Most: 64 << 20, Alloc: mem.New(mem.Options{Name: "crowd"}), Hubs: []*live.Hub{hub}, Writer: writer, Unread: func(int64) int64 { return 0 }, Relieve: func(time.Time) {}, Logger: slog.New(slog.DiscardHandler)})
	come := func() (n int) {
		for k.Admit() == nil && n < 1000 {
			if _, err := hub.Publish(strconv.Itoa(hub.Rings()), live.PublishOptions{}); err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	now := time.Now()
	step := func(n int) {
		for range n {
			now = now.Add(every)
			k.step(now)
		}
	}
	step(1)
	first := come()
	if first < 200 || first > 64<<20/perRing {
		t.Errorf("%d publishers at once with 64 MiB", first)
	}
	if !errors.Is(k.Admit(), session.ErrFull) {
		t.Errorf("one more: %v", k.Admit())
	}
	step(int(youngFor/every) - 1)
	if n := come(); n != 0 {
		t.Errorf("%d more while the first are young", n)
	}
	// They are known to need next to nothing.
	step(2)
	if n := come(); n < first/2 {
		t.Errorf("%d more when the first have settled", n)
	}
}

// A stream without new frames gives up what others need: at once when half of the memory is in use, else within two seconds.
func TestStreamsThatStandStillAreTrimmed(t *testing.T) {
	for _, half := range []bool{false, true} {
		alloc := mem.New(mem.Options{Name: "still"})
		hub, writer := live.NewHub(live.HubOptions{Memory: 4 << 20, Stream: live.StreamOptions{Allocator: alloc}}), live.NewWriter(live.WriterOptions{})
		defer hub.Close()
		defer writer.Close()
		k := New(Options{Most: 64 << 20, Alloc: alloc, Hubs: []*live.Hub{hub}, Writer: writer, Unread: func(int64) int64 { return 0 }, Relieve: func(time.Time) {}, Logger: slog.New(slog.DiscardHandler)})
		p, err := hub.Publish("still", live.PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint32(3) {
			b := alloc.Get(1 << 20)
			copy(b.Bytes(), []byte{0x17, 1, 0, 0, 0}) // a key frame of AVC
			if err := p.Publish(live.Frame{Type: flv.TagVideo, Time: 40 * i, Key: true, Payload: b}); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Now()
		k.step(now)
		for i := range 3 {
			if _, err := hub.Publish(strconv.Itoa(i), live.PublishOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		before := alloc.Stats().OutBytes
		if half {
			k.used = k.options.Most/2 + 1
		}
		k.step(now.Add(trimEvery - 1))
		if trimmed := alloc.Stats().OutBytes < before; trimmed != half {
			t.Errorf("half is in use: %v, trimmed at once: %v, of %d bytes", half, trimmed, before)
		}
		k.step(now.Add(trimEvery))
		if now := alloc.Stats().OutBytes; now >= before {
			t.Errorf("%d bytes after two seconds, before %d", now, before)
		}
	}
}

// Rings that another process has handed over are not young.
func TestRingsThatWereHandedOverAreFull(t *testing.T) {
	var y young
	y.begin(1000)
	if got := y.reserved(1001); got != 2*perRing {
		t.Errorf("%d bytes are kept free for one that is young and one that comes", got)
	}
	if got := y.reserved(10); got != perRing {
		t.Errorf("%d bytes when most have ended", got)
	}
}

// When nine tenths are used, the viewers go for which the kernel holds most, and the others stay.
func TestTheSlowestViewersGoWhenMemoryIsShort(t *testing.T) {
	alloc := mem.New(mem.Options{Name: "slow"})
	hub, writer := live.NewHub(live.HubOptions{Stream: live.StreamOptions{Allocator: alloc}}), live.NewWriter(live.WriterOptions{Stall: time.Hour, Lag: time.Hour})
	defer hub.Close()
	defer writer.Close()
	watch := func(stream string, size int) (*live.Viewer, net.Conn) {
		p, err := hub.Publish(stream, live.PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		server, client := tcpPair(t)
		v, err := writer.Add(server, p.Stream(), live.ViewerOptions{FromStart: true})
		if err != nil {
			t.Fatal(err)
		}
		for size > 0 {
			b := alloc.Get(min(size, 8<<20))
			copy(b.Bytes(), []byte{0x17, 1, 0, 0, 0}) // a key frame of AVC
			size -= b.Len()
			if err := p.Publish(live.Frame{Type: flv.TagVideo, Payload: b}); err != nil {
				t.Fatal(err)
			}
		}
		return v, client
	}
	slow, _ := watch("slow", 32<<20)
	good, client := watch("good", 100)
	if _, err := io.ReadFull(client, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); writer.Queued() < 32<<10; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the kernel holds %d bytes", writer.Queued())
		}
	}
	relieved := 0
	k := New(Options{Most: 1 << 30, Alloc: alloc, Hubs: []*live.Hub{hub}, Writer: writer, Unread: func(int64) int64 { return 0 }, Relieve: func(time.Time) { relieved++ }, Logger: slog.New(slog.DiscardHandler)})
	k.step(time.Now())
	if err := errors.Join(slow.Err(), good.Err()); err != nil || relieved != 0 {
		t.Fatalf("there is room: %v; relieved %d times", err, relieved)
	}
	k.options.Most = k.used * 100 / 95
	k.step(time.Now())
	select {
	case <-slow.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("a viewer for whom the kernel holds most stays")
	}
	if !errors.Is(slow.Err(), live.ErrMemory) || good.Err() != nil {
		t.Errorf("the slow one ends with %v, the other with %v", slow.Err(), good.Err())
	}
}

func tcpPair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(); client.Close() })
	return server, client
}
