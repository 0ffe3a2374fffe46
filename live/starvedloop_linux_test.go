package live

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A loop that has a processor for a moment now and then only falls out of the ring itself: a viewer whose
// peer takes at once what comes is not closed as slow, and is sent something each time.
func TestAStarvedLoopClosesNoViewer(t *testing.T) {
	for _, every := range []time.Duration{1400 * time.Millisecond, 2100 * time.Millisecond, 4300 * time.Millisecond} {
		for _, slow := range []bool{false, true} {
			t.Run(fmt.Sprint(every, " slow ", slow), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := NewHub(HubOptions{Stream: StreamOptions{Backlog: time.Nanosecond}})
					defer h.Close()
					p := mustPublish(t, h, "s", PublishOptions{})
					l := newHandLoop(t)
					l.limits = WriterOptions{}.withDefaults(1)
					m := &modelLine{rate: 1e9, holds: 4 << 10, seen: func() float64 { return 1e9 }}
					m.view(l, p.Stream(), ViewerOptions{FromStart: true})
					began, next := time.Now(), every
					had := 0
					for i := range 60 * 25 {
						send(t, p, video(uint32(i)*40, i%50 == 0, 400))
						<-time.After(40 * time.Millisecond)
						if time.Since(began) < next {
							continue
						}
						next += every
						if slow {
							m.v.slowDown()
						}
						for range 20 { // a moment
							l.now = time.Now()
							l.round(0)
							<-time.After(time.Millisecond)
							m.carry(time.Millisecond)
						}
						if m.v.state == stateClosed {
							t.Fatalf("closed after %v: %v", time.Since(began), m.v.Err())
						}
						if len(m.list) == had {
							t.Errorf("nothing was sent after %v", time.Since(began))
						}
						had = len(m.list)
					}
				})
			})
		}
	}
}
