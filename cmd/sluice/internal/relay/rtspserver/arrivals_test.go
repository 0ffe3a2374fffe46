package rtspserver

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Datagrams may have 64 KB each: what waits of a publisher is bounded by bytes, too, and what waits of
// all together, without those who send little losing any for it.
func TestArrivalsAreBounded(t *testing.T) {
	const crowd, size = 60, 60000
	alloc := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, alloc)
	s := &Server{Host: &session.Host{Alloc: alloc}}
	open := func() *arrivals {
		r := &recording{peer: &peer{server: s}}
		r.udp.recording, r.udp.failed = r, true // what comes is released
		r.udp.begin()
		return &r.udp
	}
	packet := make([]byte, size)
	var all []*arrivals
	for range crowd {
		a := open()
		all = append(all, a)
		for range maxArrivals {
			a.put(0, false, packet, time.Now())
		}
		if n := a.waiting.Load(); n > maxWaiting || n < fairWaiting/2 {
			t.Fatalf("%d bytes of one publisher wait", n)
		}
	}
	if n, most := s.waiting.Load(), int64(maxWaitingAll+crowd*fairWaiting); n > most {
		t.Errorf("%d bytes of all wait, at most %d", n, most)
	}
	little := open()
	for i := range 80 {
		if !little.put(0, false, packet[:1400], time.Now()) {
			t.Fatalf("packet %d of one that sends little is lost", i)
		}
	}
	for _, a := range append(all, little) {
		a.rest()
	}
	if n := s.waiting.Load(); n != 0 {
		t.Errorf("%d bytes wait when all are taken", n)
	}
}
