package live

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/sys"
	"golang.org/x/sys/unix"
)

// A modelLine is the socket of a viewer on a slow line as the loop knows it, without a
// kernel: what happens on it depends on the clock of the test alone.
type modelLine struct {
	v     *Viewer
	rate  float64        // bytes a second that the line carries
	holds int            // bytes that the network holds
	seen  func() float64 // the rate that the kernel reports
	queue []byte         // what the peer has not acknowledged
	ready float64        // bytes that the line could carry by now
	arrivals
}

func (m *modelLine) Control(f func(uintptr)) error  { f(^uintptr(0)); return nil } // of no file
func (m *modelLine) Read(func(uintptr) bool) error  { return nil }
func (m *modelLine) Write(func(uintptr) bool) error { return nil }
func (m *modelLine) unsent() int                    { return max(len(m.queue)-m.holds, 0) }
func (m *modelLine) find(w *socketWriter)           { w.found = queue{len(m.queue), m.unsent(), m.seen()} }

// room reports whether the socket takes more. A kernel looks at that when it begins a packet,
// which may be as large as all that it is given.
func (m *modelLine) room() bool {
	most := quotaOf(m.v.stream.byteRate())
	if m.v.line.slow {
		most = m.v.line.quota
	}
	return m.unsent() < most
}

// view makes m the socket of a new viewer of l.
func (m *modelLine) view(l *handLoop, s *Stream, o ViewerOptions) {
	conn, _ := net.Pipe()
	m.v = newViewer(conn, s, &l.limits)
	m.v.owner, m.v.link = l.loop, link{conn: conn, raw: m, socket: &l.socket}
	if !s.attach(m.v, o) {
		l.t.Fatal("the stream is over")
	}
	m.v.cursor.own = &l.own
	w := &l.socket
	w.ask = func(uintptr) { w.n, w.err = len(m.queue), nil }
	w.measure = func(uintptr) { w.err = nil; m.find(w) }
	w.call = func(uintptr) {
		if !m.room() {
			w.err = unix.EAGAIN
			return
		}
		for _, p := range w.parts {
			p = p[:min(len(p), w.left)]
			m.queue = append(m.queue, p...)
			w.n += len(p)
			w.left -= len(p)
		}
	}
	l.admit(m.v, time.Now())
	l.fresh.until = time.Time{} // no other is expected
}

// carry is what the line does in so long.
func (m *modelLine) carry(d time.Duration) {
	if len(m.queue) == 0 {
		m.ready = 0
		return
	}
	m.ready += m.rate * d.Seconds()
	n := int(min(m.ready, float64(len(m.queue)))) // an int of 32 bits has no room for an hour
	m.ready -= float64(n)
	m.add(m.queue[:n], time.Now())
	m.queue = m.queue[n:]
}

const modelStep = 4 * time.Millisecond

// play publishes tags in real time, in small steps, and returns when each was
// published. The loop does nothing while stands says so.
func (m *modelLine) play(t *testing.T, tags []tag, stands func(time.Duration) bool) (when published, ended time.Time) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	l := newHandLoop(t)
	l.limits = WriterOptions{}.withDefaults(1)
	m.view(l, p.Stream(), ViewerOptions{FromStart: true, Merge: 40 * time.Millisecond})
	when = make(published)
	began := time.Now()
	for ; len(tags) > 0; <-time.After(modelStep) {
		at := time.Since(began)
		for len(tags) > 0 && at >= time.Duration(tags[0].time)*time.Millisecond {
			when.add(tags[0])
			send(t, p, tags[0])
			tags = tags[1:]
		}
		m.carry(modelStep)
		if stands == nil || !stands(at) {
			l.now = time.Now()
			l.round(0)
		}
	}
	ended = time.Now()
	p.Close()
	for m.v.state != stateClosed || len(m.queue) > 0 {
		<-time.After(modelStep)
		m.carry(modelStep)
		l.now = time.Now()
		l.round(0)
		if time.Since(ended) > time.Hour {
			t.Fatalf("the viewer does not end: state %d, %d bytes wait", m.v.state, len(m.queue))
		}
	}
	if err := m.v.Err(); err != ErrEnded {
		t.Fatalf("closed for %v", err)
	}
	return when, ended
}

// What arrives on a slow line comes within the time that WriterOptions.Lag says, also when
// the kernel measures the line wrongly; later by no more than the loop had no processor. Every
// frame is sent or left out, once, and what has not changed of the headers is not sent again.
func TestLatenessOnSlowLines(t *testing.T) {
	clip := clipTags(t)
	clip = clip[:len(clip)*8/10]
	size := 0
	for _, g := range clip {
		size += len(g.body) + 15
	}
	rate := float64(size) / 8             // the clip has ten seconds
	const every = 1300 * time.Millisecond // between stalls of the loop
	for _, share := range []float64{0.3, 0.5, 0.8, 1, 4} {
		for _, holds := range []int{4 << 10, 24 << 10} {
			for _, seen := range []float64{0, 0.3, 1, 3} {
				if sys.Race && seen > 0 && seen < 3 {
					continue // one goroutine
				}
				for _, stall := range []time.Duration{0, 600 * time.Millisecond} {
					name := fmt.Sprintf("%.0f%%/holds %d/seen as %.1f/stalls %v", share*100, holds, seen, stall)
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							r := rand.New(rand.NewPCG(1, 2))
							m := &modelLine{rate: rate * share, holds: holds}
							m.seen = func() float64 { return m.rate * seen * (0.5 + r.Float64()) }
							when, ended := m.play(t, clip, func(at time.Duration) bool { return at%every > every-stall })
							late := when.late(m.list, ended)
							st := &m.v.figures
							again := when.again(m.list)
							worst := slices.Max(late)
							t.Logf("%d tags, %d of them again, %d left out, %d jumps, worst %v", len(m.list), again, st.dropped.Load(), st.jumps.Load(), worst)
							if worst > m.v.limits.Lag+stall {
								t.Errorf("a tag came after %v", worst)
							}
							if n := st.frames.Load() + st.dropped.Load(); n != int64(len(clip)) {
								t.Errorf("%d sent and %d left out of %d", st.frames.Load(), st.dropped.Load(), len(clip))
							}
							if again > 0 {
								t.Errorf("%d tags came again", again)
							}
							if share > 1 && stall == 0 && st.dropped.Load() > 0 {
								t.Errorf("%d left out on a fast line", st.dropped.Load())
							}
						})
					})
				}
			}
		}
	}
}

// Sound alone passes at once on a line that lets bursts through, and the kernel takes that for its rate. A
// line on which pictures are left out is measured all the same, and known when they are sent again.
func TestLinesThatLetBurstsThrough(t *testing.T) {
	clip := clipTags(t)
	for _, share := range []float64{0.2, 0.3, 0.5} {
		t.Run(fmt.Sprintf("%.0f%%", share*100), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &modelLine{rate: 112_000 * share, holds: 24 << 10}
				var burst time.Time
				m.seen = func() float64 {
					if len(m.queue) == 0 {
						burst = time.Now()
					}
					if time.Since(burst) < 400*time.Millisecond {
						return 1e8
					}
					return m.rate
				}
				when, ended := m.play(t, clip, nil)
				worst := slices.Max(when.late(m.list, ended))
				t.Logf("%d tags, worst %v", len(m.list), worst)
				if worst > m.v.limits.Lag*9/10 {
					t.Errorf("a tag came after %v", worst)
				}
			})
		})
	}
}

// A machine that is busy makes the loop late, and viewers with it, for moments: a viewer whose
// line takes at once what comes then misses nothing.
func TestLateLoopIsNoSlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &modelLine{holds: 4 << 10, seen: func() float64 { return 1e9 }}
		clip := clipTags(t)
		m.play(t, clip, func(at time.Duration) bool {
			at %= 2500 * time.Millisecond
			m.rate = 1e9
			if at >= 1300*time.Millisecond && at < 1420*time.Millisecond {
				m.rate = 0 // the viewer does not come to read, and seems to be slow
			}
			return at >= time.Second && at < 1400*time.Millisecond || at >= 1450*time.Millisecond
		})
		if f := &m.v.figures; f.frames.Load() != int64(len(clip)) || f.jumps.Load() > 0 {
			t.Errorf("%d of %d frames were sent, with %d jumps", f.frames.Load(), len(clip), f.jumps.Load())
		}
	})
}

// What a viewer is sent besides frames is as old as it is: the age of what its peer has not
// acknowledged says how late frames would come.
func TestAgeOfWhatIsNoFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(HubOptions{})
		defer h.Close()
		p := mustPublish(t, h, "s", PublishOptions{})
		s := p.Stream()
		l := newHandLoop(t)
		m := &modelLine{rate: 1e6, holds: 1 << 20, seen: func() float64 { return 1e6 }}
		check := func(what string) {
			t.Helper()
			l.now = time.Now()
			l.round(0)
			if len(m.queue) == 0 {
				t.Errorf("%s: nothing was sent", what)
			}
			acked := m.v.figures.bytes.Load() - int64(len(m.queue))
			if age := m.v.figures.trail.age(acked, s.clock()); age > time.Second {
				t.Errorf("%s: the oldest byte that is not acknowledged is %v old", what, age)
			}
			m.carry(time.Hour)
		}
		<-time.After(time.Hour)
		send(t, p, videoConfig(0, 7), video(0, true, 100))
		m.view(l, s, ViewerOptions{Prelude: []byte("prelude")})
		check("the first answer")
		<-time.After(time.Hour)
		m.v.control = append(m.v.control, "pong"...)
		l.advance(m.v, 0)
		check("control")
		<-time.After(time.Hour)
		send(t, p, videoConfig(0, 8))
		check("a header")
		m.v.cursor.moved = true // as after a pause
		<-time.After(time.Hour)
		l.advance(m.v, 0)
		check("a greeting")
		p.Close()
		m.v.cursor.drop()
	})
}

// After the process has stood still, a publisher that is too fast still waits for the viewers
// that there are, and none of them is closed: it had no way to make progress.
func TestStandingStillIsNoViewersFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(HubOptions{Stream: StreamOptions{GOPFrames: 100, Ahead: 100 * time.Millisecond}})
		defer h.Close()
		p := mustPublish(t, h, "s", PublishOptions{})
		l := newHandLoop(t)
		l.limits = WriterOptions{}.withDefaults(1)
		m := &modelLine{rate: 1, holds: 10, seen: func() float64 { return 1 }}
		round := func() {
			l.now = time.Now()
			l.round(0)
		}
		m.view(l, p.Stream(), ViewerOptions{FromStart: true})
		sent := 0
		next := func() bool {
			ok, err := p.TryPublish(video(uint32(sent)*30_000, sent == 0, 5000).frame())
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				sent++
			}
			round()
			return ok
		}
		for next() {
			if sent > 90 {
				t.Fatal("the publisher does not wait")
			}
		}
		for range 5 {
			<-time.After(20 * l.limits.Stall)
			if next() {
				t.Fatalf("it does not wait for a viewer after the process has stood still; %d frames", sent)
			}
		}
		if m.v.state == stateClosed {
			t.Fatalf("the viewer was closed for %v", m.v.Err())
		}
		// One that takes nothing while the process runs is neither waited for nor kept.
		for range lagging / scanEvery {
			<-time.After(scanEvery)
			round()
		}
		if !next() {
			t.Error("it waits for a viewer that takes nothing")
		}
		for range l.limits.Stall / scanEvery {
			<-time.After(scanEvery)
			round()
		}
		if m.v.state != stateClosed {
			t.Error("a viewer that takes nothing is not closed")
		}
	})
}

// A publisher that is too fast waits for viewers on slow lines, and nothing that they lack
// becomes too old meanwhile.
func TestFastPublisherWaitsForSlowLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(HubOptions{Stream: StreamOptions{GOPBytes: 2 << 20, Ahead: 100 * time.Millisecond}})
		defer h.Close()
		p := mustPublish(t, h, "s", PublishOptions{})
		l := newHandLoop(t)
		l.limits = WriterOptions{}.withDefaults(1)
		const rate = 100 << 10 // 1 MiB takes ten seconds
		m := &modelLine{rate: rate, holds: 10_000, seen: func() float64 { return rate }}
		m.view(l, p.Stream(), ViewerOptions{FromStart: true})
		const frames = 300
		for sent := 0; sent < frames || len(m.list) < frames && m.v.state != stateClosed; {
			if sent < frames {
				ok, err := p.TryPublish(video(uint32(sent)*10_000, sent%50 == 0, 20<<10).frame())
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					sent++
				}
			}
			<-time.After(modelStep)
			m.carry(modelStep)
			l.now = time.Now()
			l.round(0)
			if f := &m.v.figures; f.dropped.Load() > 0 || f.jumps.Load() > 0 {
				t.Fatalf("%d frames are left out of %d", f.dropped.Load(), sent)
			}
		}
		if len(m.list) != frames {
			t.Errorf("%d tags of %d came; %v", len(m.list), frames, m.v.Err())
		}
	})
}
