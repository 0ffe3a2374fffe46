package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// atMost bounds every wait for something that has to happen.
const atMost = 30 * time.Second

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// start runs a broker until the test ends.
func start(t *testing.T, queue int) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, l, queue)
}

func serveOn(t *testing.T, l net.Listener, queue int) (addr string) {
	t.Helper()
	memory := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, memory)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		serve(ctx, l, memory, queue)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-done:
		case <-time.After(atMost):
			t.Error("the broker does not end")
		}
	})
	return l.Addr().String()
}

// peer is a client of the broker.
type peer struct {
	t *testing.T
	r *sluice.BufReader
	w *sluice.BufWriter
}

func dial(t *testing.T, addr string) peer {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, atMost)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	p := peer{t, sluice.NewBufReader(c), sluice.NewBufWriter(c)}
	t.Cleanup(func() {
		p.r.Recycle()
		p.w.Recycle()
		c.Close()
	})
	return p
}

func (p peer) send(frame string) {
	p.t.Helper()
	if err := p.w.WriteFrame(4, binary.BigEndian, mem.Wrap([]byte(frame), nil)); err != nil {
		p.t.Fatal(err)
	}
	if err := p.w.Flush(); err != nil {
		p.t.Fatal(err)
	}
}

func (p peer) get() string {
	p.t.Helper()
	b, err := p.r.ReadFrame(4, binary.BigEndian, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer b.Release()
	return string(b.Bytes())
}

// subscribe returns when the broker has noted it: what it publishes to itself
// comes back.
func (p peer) subscribe(topic string) {
	p.t.Helper()
	p.send("S " + topic)
	probe := fmt.Sprintf("P %s\nprobe %p", topic, p.r)
	p.send(probe)
	for p.get() != probe {
	}
}

func TestSubscribersGetTheFramesOfTheirTopics(t *testing.T) {
	addr := start(t, 100)
	weather, both, publisher := dial(t, addr), dial(t, addr), dial(t, addr)
	both.subscribe("news")
	both.subscribe("weather")
	weather.subscribe("weather")
	for i := range 50 {
		publisher.send(fmt.Sprintf("P news\n%d", i))
		publisher.send(fmt.Sprintf("P weather\n%d", i))
		publisher.send(fmt.Sprintf("P nobody's\n%d", i))
	}
	got := both.get()
	for got[:7] == "P weath" && len(got) > 12 { // the other's probe
		got = both.get()
	}
	for i := range 50 {
		if want := fmt.Sprintf("P news\n%d", i); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		for _, p := range []peer{both, weather} {
			if got, want := p.get(), fmt.Sprintf("P weather\n%d", i); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		if i < 49 {
			got = both.get()
		}
	}
}

func TestASlowSubscriberLosesTheOldestFrames(t *testing.T) {
	addr := start(t, 4)
	quick, slow, publisher := dial(t, addr), dial(t, addr), dial(t, addr)
	slow.subscribe("film")
	quick.subscribe("film")
	// The slow one reads nothing until its sockets and its queue must be full,
	// while the quick one gets each frame.
	const frames = 1000
	frame := func(i int) string { return fmt.Sprintf("P film\n%60000d", i) }
	for i := range frames {
		publisher.send(frame(i))
		if quick.get() != frame(i) {
			t.Fatalf("the quick one did not get frame %d", i)
		}
	}
	last, missed := -1, 0
	for last < frames-1 {
		var n int
		if _, err := fmt.Sscanf(slow.get(), "P film\n%d", &n); err != nil {
			continue // the probe of the quick one
		}
		if n <= last {
			t.Fatalf("frame %d after %d", n, last)
		}
		missed += n - last - 1
		last = n
	}
	if missed == 0 {
		t.Error("the slow one missed nothing")
	}
}

func TestWhatIsNoOperationEndsTheConnection(t *testing.T) {
	addr := start(t, 4)
	for _, frame := range []string{"", "X topic", "PS"} {
		p := dial(t, addr)
		p.send(frame)
		if _, err := p.r.ReadByte(); err != io.EOF && runtime.GOOS == "linux" {
			t.Errorf("after %q: %v", frame, err)
		}
	}
}

func TestItAcceptsAgainWhenThereAreDescriptors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := dial(t, serveOn(t, loopback.Refusing(l, 2), 4))
	p.subscribe("news")
}

func TestASubscriptionTooManyEndsTheConnection(t *testing.T) {
	addr := start(t, 4)
	p := dial(t, addr)
	for i := range maxTopics {
		p.send(fmt.Sprint("S ", i))
		p.send("S 0") // again: no other one
	}
	p.subscribe("0")
	p.send("S more")
	if _, err := p.r.ReadByte(); err != io.EOF {
		t.Errorf("after a topic too many: %v", err)
	}
	p = dial(t, addr)
	p.send("S " + strings.Repeat("x", maxName+1))
	if _, err := p.r.ReadByte(); err != io.EOF {
		t.Errorf("after a long name: %v", err)
	}
}
