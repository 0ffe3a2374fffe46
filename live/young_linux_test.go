package live

import (
	"io"
	"testing"
	"time"
)

// The line of a new viewer is looked at until it has taken some, and no longer: a system
// call for each of many viewers ten times a second is a good part of what they cost.
func TestNewViewersAreLookedAtUntilTheirLinesHaveTakenEnough(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "a", PublishOptions{})
	l := newHandLoop(t)
	v, peer := l.view(p.Stream(), ViewerOptions{FromStart: true})
	go io.Copy(io.Discard, peer)
	look := func() {
		l.fresh.youngAt = l.now
		l.round(0)
	}
	send(t, p, video(0, true, 100))
	for range 100 {
		if look(); len(l.fresh.young) != 1 {
			t.Fatalf("after %d bytes it is not looked at any more", v.figures.bytes.Load())
		}
	}
	send(t, p, video(40, false, youngBytes))
	for end := time.Now().Add(time.Minute); len(l.fresh.young) > 0; look() {
		if time.Now().After(end) {
			t.Fatalf("its peer has taken %d bytes, and it is looked at", v.figures.bytes.Load())
		}
	}
}
