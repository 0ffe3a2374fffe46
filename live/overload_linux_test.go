package live

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A costlyLine is a socket that takes all at once, and each call the loop's time.
type costlyLine struct {
	cost time.Duration
	last time.Time
	gap  time.Duration // the longest between two sends
}

func (c *costlyLine) Read(func(uintptr) bool) error  { return nil }
func (c *costlyLine) Write(func(uintptr) bool) error { return nil }

func (c *costlyLine) Control(f func(uintptr)) error {
	<-time.After(c.cost)
	c.look(time.Now())
	c.last = time.Now()
	f(^uintptr(0))
	return nil
}

func (c *costlyLine) look(now time.Time) { c.gap = max(c.gap, now.Sub(c.last)) }

// A loop that has less time than its viewers need shares it among them.
func TestAnOverloadedLoopSharesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(HubOptions{})
		defer h.Close()
		p := mustPublish(t, h, "s", PublishOptions{})
		l := newHandLoop(t)
		l.limits = WriterOptions{}.withDefaults(1)
		w := &l.socket
		w.ask = func(uintptr) { w.n, w.err = 0, nil }
		w.measure = func(uintptr) { w.found, w.err = queue{}, nil }
		w.call = func(uintptr) {
			for _, p := range w.parts {
				p = p[:min(len(p), w.left)]
				w.n += len(p)
				w.left -= len(p)
			}
		}
		var lines []*costlyLine
		sent := 0
		until := func(end time.Time) {
			for ; time.Now().Before(end); <-time.After(time.Millisecond) {
				for range time.Since(p.Stream().begun)/(40*time.Millisecond) - time.Duration(sent) {
					send(t, p, video(uint32(sent)*40, sent%50 == 0, 3000))
					sent++
				}
				l.now = time.Now()
				l.round(0)
			}
		}
		until(time.Now().Add(10 * time.Second))
		for range 200 {
			conn, _ := net.Pipe()
			c := &costlyLine{cost: time.Millisecond, last: time.Now()}
			lines = append(lines, c)
			v := newViewer(conn, p.Stream(), &l.limits)
			v.owner, v.link = l.loop, link{conn: conn, raw: c, socket: w}
			if !p.Stream().attach(v, ViewerOptions{Merge: 95 * time.Millisecond}) {
				t.Fatal("the stream is over")
			}
			v.cursor.own = &l.own
			l.admit(v, time.Now())
			l.fresh.until, l.fresh.young = time.Time{}, nil
		}
		until(time.Now().Add(40 * time.Second))
		var gaps []time.Duration
		for _, c := range lines {
			c.look(time.Now())
			gaps = append(gaps, c.gap)
		}
		slices.Sort(gaps)
		t.Log(gaps[0], gaps[len(gaps)/10], gaps[len(gaps)/2], gaps[len(gaps)*9/10], gaps[len(gaps)-1])
		if most := gaps[len(gaps)-1]; most > 3*time.Second {
			t.Errorf("a viewer was sent nothing for %v", most)
		}
		p.Close()
	})
}
