package live

import (
	"io"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// With one processor, goroutines that wait for the network run in the middle of what another
// one does.
func TestYieldingRunsGoroutinesWhoseConnectionsAreReady(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("here the runtime decides when it looks at the network")
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var y yielder
	defer y.close()
	var got atomic.Int64
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			n, err := in.Read(make([]byte, 1))
			if got.Add(int64(n)); err != nil {
				return
			}
		}
	}()
	yields := make([]int, 1000) // until each byte had been read
	for want := range yields {
		for got.Load() != int64(want) {
			y.yield()
			yields[want]++
		}
		if _, err := out.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	// The median: where the kernel has no time to deliver one, it takes any number.
	slices.Sort(yields)
	if n := yields[len(yields)/2]; n > 10 {
		t.Errorf("it took %d yields until a byte had been read", n)
	}
	out.Close()
	<-read
}

// What takes long does not keep newcomers waiting: they are taken in while a group is sent
// to, and have what there is.
func TestNewcomersAreTakenInWhileAGroupIsSentTo(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "a", PublishOptions{})
	l := newHandLoop(t)
	var viewers []*Viewer
	for range 10 {
		v, peer := l.view(p.Stream(), ViewerOptions{FromStart: true})
		go io.Copy(io.Discard, peer)
		viewers = append(viewers, v)
	}
	send(t, p, video(0, true, 100))
	l.round(0)
	newcomer, _ := l.newcomer(p.Stream(), ViewerOptions{})
	l.loop.add(newcomer)
	send(t, p, video(40, false, 100))
	l.fresh.until = time.Now().Add(time.Hour)
	l.fresh.looked = time.Time{} // long ago
	l.round(0)                   // takes in none by itself
	for i, v := range append(viewers, newcomer) {
		if got := v.figures.frames.Load(); got != 2 {
			t.Errorf("viewer %d has %d frames", i, got)
		}
	}
	send(t, p, video(80, false, 100))
	l.round(0)
	if got := newcomer.figures.frames.Load(); got != 3 {
		t.Errorf("the newcomer has %d frames, and the group 3", got)
	}
}

// A loop whose viewers stay the same does not give way in the middle of its work.
func TestALoopWithoutNewcomersDoesNotYield(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "a", PublishOptions{})
	l := newHandLoop(t)
	_, peer := l.view(p.Stream(), ViewerOptions{FromStart: true})
	go io.Copy(io.Discard, peer)
	l.fresh.until = time.Now().Add(-time.Millisecond)
	newcomer, _ := l.newcomer(p.Stream(), ViewerOptions{})
	l.loop.add(newcomer)
	send(t, p, video(0, true, 100))
	l.fresh.looked = time.Time{}
	l.round(0)
	if len(l.viewers) != 1 || !l.fresh.until.IsZero() {
		t.Error("it has looked for newcomers")
	}
	l.admit(newcomer, l.now)
}
