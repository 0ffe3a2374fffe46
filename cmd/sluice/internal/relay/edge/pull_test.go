package edge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

func TestManyViewersMakeOnePull(t *testing.T) {
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		s := &source{answer: yes, deliver: forever}
		l := &local{}
		p := newPuller(t, serve(s, t)+"?token=abc", l, nil)
		l.viewers.Store(50)
		var asking sync.WaitGroup
		for range 50 {
			asking.Go(func() {
				if err := pull(t, p, "live/s"); err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		if got := s.asked.Load(); got != 1 {
			t.Errorf("the origin was asked %d times", got)
		}
		if got := s.query.Load(); got != "merge=0&token=abc" {
			t.Errorf("with the query %q", got)
		}
		if got := s.path.Load().(Path); !slices.Equal(got, Path{p.ID()}) {
			t.Errorf("with the path %v, this is %s", got, p.ID())
		}
		if got := len(l.published()); got != 1 {
			t.Errorf("%d publishers", got)
		}
		if got := p.Stats(); got != (Stats{Active: 1, Begun: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestFramesComeAsTheyAre(t *testing.T) {
	want := []frame{
		{flv.TagScript, 0, "\x02\x00\x0aonMetaData\x08\x00\x00\x00\x00\x00\x00\x09"},
		{flv.TagVideo, 0, "\x17\x00\x00\x00\x00config"},
		{flv.TagAudio, 0, "\xaf\x00\x12\x10"},
		{flv.TagVideo, 0xfffffff0, "\x17\x01\x00\x00\x00" + string(make([]byte, 300_000))},
		{flv.TagAudio, 0xfffffffa, "\xaf\x01x"},
		{flv.TagVideo, 0x01000004, "\x27\x01\x00\x00\x00y"},
	}
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		s := &source{answer: yes, deliver: func(_ int64, out *output) {
			for _, f := range want {
				if err := out.send(f); err != nil {
					t.Error(err)
				}
			}
			<-out.gone
		}}
		l := &local{}
		l.viewers.Store(1)
		p := newPuller(t, serve(s, t), l, nil)
		if err := pull(t, p, "live/s"); err != nil {
			t.Fatal(err)
		}
		until(t, "all frames are there", func() bool { got, _ := l.published()[0].got(); return len(got) >= len(want) })
		got, _ := l.published()[0].got()
		if !slices.Equal(got, want) {
			for i := range got {
				t.Logf("%v at %d, %d bytes", got[i].Type, got[i].Time, len(got[i].Body))
			}
			t.Error("other frames than were sent")
		}
	})
}

func TestWhatIsNotThereIsRefusedAtOnce(t *testing.T) {
	for answer, want := range map[string]error{missing: ErrNotFound, denied: ErrDenied} {
		ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
			s := &source{answer: func(int64) string { return answer }}
			l := &local{}
			l.viewers.Store(1)
			p := newPuller(t, serve(s, t), l, func(o *Options) { o.Retry = time.Hour; o.Refuse = time.Hour })
			for range 10 {
				if err := pull(t, p, "live/s"); !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			}
			if err := pull(t, p, "live/other"); !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
			if got := s.asked.Load(); got < 1 || got > 2 {
				t.Errorf("the origin was asked %d times", got)
			}
			if len(l.published()) != 0 {
				t.Error("something was published")
			}
		})
	}
}

func TestRefusalsAreForgotten(t *testing.T) {
	s := &source{answer: func(n int64) string {
		if n == 1 {
			return missing
		}
		return ""
	}, deliver: forever}
	l := &local{}
	l.viewers.Store(1)
	p := newPuller(t, s.serveHTTP(t), l, nil)
	if err := pull(t, p, "live/s"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	until(t, "it is asked again", func() bool { return pull(t, p, "live/s") == nil })
	// Hostile names do not fill the memory.
	p.mu.Lock()
	for i := range 3 * maxRefusals {
		p.mu.Unlock()
		p.over(&pulling{stream: fmt.Sprint(i)}, ErrNotFound)
		p.mu.Lock()
	}
	n := len(p.refused)
	p.mu.Unlock()
	if n > maxRefusals {
		t.Errorf("%d refusals are kept", n)
	}
}

func TestNobodyIsThere(t *testing.T) {
	for _, address := range []string{"rtmp://127.0.0.1:1/live", "http://127.0.0.1:1", "rtmps://127.0.0.1:1/live"} {
		l := &local{}
		l.viewers.Store(1)
		p := newPuller(t, address, l, nil)
		if err := pull(t, p, "live/s"); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", address, err)
		}
		if got := p.Stats(); got.Failed != 1 || got.Active != 0 {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

func TestLetsGoAfterTheLastViewer(t *testing.T) {
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		s := &source{answer: yes, deliver: forever}
		l := &local{}
		l.viewers.Store(1)
		p := newPuller(t, serve(s, t), l, nil)
		for round := range 2 {
			l.viewers.Store(1)
			if err := pull(t, p, "live/s"); err != nil {
				t.Fatal(err)
			}
			l.viewers.Store(0)
			until(t, "the origin is let go", func() bool { return s.open.Load() == 0 && p.Stats().Active == 0 })
			sink := l.published()[round]
			until(t, "the stream is closed", func() bool { _, over := sink.got(); return over })
		}
		if got := len(l.published()); got != 2 {
			t.Errorf("%d publishers", got)
		}
	})
}

func TestAskingKeepsAStreamThatNobodyWatchesYet(t *testing.T) {
	s := &source{answer: yes, deliver: forever}
	l := &local{}
	p := newPuller(t, s.serveHTTP(t), l, func(o *Options) { o.Linger = time.Hour })
	if err := pull(t, p, "live/s"); err != nil {
		t.Fatal(err)
	}
	q := p.pulls["live/s"]
	if p.leave(q, time.Now().Add(-time.Hour)) {
		t.Error("a pull that somebody has just asked for is let go")
	}
	l.viewers.Store(1)
	if p.leave(q, time.Now()) {
		t.Error("a pull that somebody watches is let go")
	}
	l.viewers.Store(0)
	if !p.leave(q, time.Now()) {
		t.Error("a pull that nobody wants stays")
	}
}

// A request for a stream whose pull is just ending gets the next pull, and never
// the end of the last.
func TestAskingWhileItIsLetGo(t *testing.T) {
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		s := &source{answer: yes, deliver: forever}
		l := &local{}
		p := newPuller(t, serve(s, t), l, func(o *Options) { o.Linger = time.Millisecond })
		for range 200 {
			l.viewers.Store(1)
			if err := pull(t, p, "live/s"); err != nil {
				t.Fatal(err)
			}
			sinks := l.published()
			if _, over := sinks[len(sinks)-1].got(); over {
				t.Fatal("the stream is over when it is asked for")
			}
			l.viewers.Store(0)
			if rand.N(2) == 0 {
				<-time.After(rand.N(2 * time.Millisecond))
			}
		}
		if got := len(l.published()); got < 2 {
			t.Errorf("%d pulls: it was never let go", got)
		}
	})
}

func TestReconnectsWhileThereAreViewers(t *testing.T) {
	const rounds = 5
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		s := &source{
			answer: func(n int64) string {
				if n%3 == 2 {
					return broken
				}
				return ""
			},
			deliver: func(n int64, out *output) {
				if n < rounds {
					if err := out.send(frame{flv.TagVideo, uint32(n), "\x17\x01\x00\x00\x00x"}); err != nil {
						t.Error(err)
					}
					return
				}
				forever(n, out)
			},
		}
		l := &local{}
		l.viewers.Store(1)
		p := newPuller(t, serve(s, t), l, func(o *Options) { o.Linger = time.Minute })
		if err := pull(t, p, "live/s"); err != nil {
			t.Fatal(err)
		}
		until(t, "it has come back", func() bool {
			got, _ := l.published()[0].got()
			return s.asked.Load() > rounds && len(got) > rounds
		})
		if got := len(l.published()); got != 1 {
			t.Errorf("%d publishers: viewers were thrown out between", got)
		}
		if got := p.Stats().Reconnects; got < rounds {
			t.Errorf("%d reconnects", got)
		}
	})
}

// A stream that has played is pulled on for as long as it has viewers, whatever
// the origin says meanwhile: it may be restarting.
func TestOriginThatRestarts(t *testing.T) {
	for _, meanwhile := range []string{missing, denied, broken} {
		t.Run(meanwhile, func(t *testing.T) {
			ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
				const back = 5
				s := &source{
					answer: func(n int64) string {
						if n > 1 && n < back {
							return meanwhile
						}
						return ""
					},
					deliver: func(n int64, out *output) {
						if n >= back {
							forever(n, out)
						} else if err := out.send(frame{flv.TagVideo, 0, "\x17\x01\x00\x00\x00x"}); err != nil {
							t.Error(err)
						}
					},
				}
				l := &local{}
				l.viewers.Store(1)
				p := newPuller(t, serve(s, t), l, func(o *Options) { o.Linger = time.Minute })
				if err := pull(t, p, "live/s"); err != nil {
					t.Fatal(err)
				}
				until(t, "the stream has come back", func() bool { got, _ := l.published()[0].got(); return len(got) > 5 })
				if got := len(l.published()); got != 1 {
					t.Errorf("%d publishers: viewers were let go between", got)
				}
			})
		})
	}
}

// A stream that has not come back after GiveUp is given up, also without viewers.
func TestGivesUp(t *testing.T) {
	for _, second := range []string{missing, denied, broken} {
		t.Run(second, func(t *testing.T) {
			ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
				s := &source{
					answer: func(n int64) string {
						if n > 1 {
							return second
						}
						return ""
					},
					deliver: func(_ int64, out *output) {
						if err := out.send(frame{flv.TagVideo, 0, "\x17\x01\x00\x00\x00x"}); err != nil {
							t.Error(err)
						}
					},
				}
				l := &local{}
				l.viewers.Store(1)
				p := newPuller(t, serve(s, t), l, func(o *Options) { o.Linger, o.GiveUp = time.Minute, 50*time.Millisecond })
				if err := pull(t, p, "live/s"); err != nil {
					t.Fatal(err)
				}
				until(t, "viewers are let go", func() bool { _, over := l.published()[0].got(); return over && p.Stats().Active == 0 })
			})
		})
	}
}

// Of several origins the first that has a stream gives it, and another goes on
// when that is lost.
func TestSeveralOrigins(t *testing.T) {
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		one := func(source *source) *Origin {
			o, err := ParseOrigin(serve(source, t))
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		down, err := ParseOrigin("http://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		without := &source{answer: func(int64) string { return missing }}
		first := &source{
			answer: func(n int64) string {
				if n > 1 {
					return missing
				}
				return ""
			},
			deliver: func(_ int64, out *output) {
				if err := out.send(frame{flv.TagVideo, 0, "\x17\x01\x00\x00\x00x"}); err != nil {
					t.Error(err)
				}
			},
		}
		second := &source{answer: yes, deliver: forever}
		l := &local{}
		l.viewers.Store(1)
		origins := []*Origin{down, one(without), one(first), one(second)}
		p := newPuller(t, "http://127.0.0.1:1", l, func(o *Options) { o.Origins, o.Linger = origins, time.Minute })
		if err := pull(t, p, "live/s"); err != nil {
			t.Fatal(err)
		}
		until(t, "the last origin goes on", func() bool { got, _ := l.published()[0].got(); return len(got) > 3 })
		if got := len(l.published()); got != 1 {
			t.Errorf("%d publishers: viewers were let go between", got)
		}
		p.mu.Lock()
		order := p.health.order(origins, time.Now())
		p.mu.Unlock()
		if order[len(order)-1] != down {
			t.Errorf("%v, which cannot be reached, is not the last to be asked: %v", down, order)
		}
		if err := pull(t, p, "live/none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("what no origin has: %v", err)
		}
	})
}

// A machine that is off, or hangs, answers nothing: the next origin is asked before viewers have gone. The last of all
// has the time for a first frame.
func TestOriginThatDoesNotAnswer(t *testing.T) {
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		const answer = 20 * time.Millisecond
		off, err := net.Listen("tcp", "127.0.0.1:0") // the kernel connects, and nothing accepts
		if err != nil {
			t.Fatal(err)
		}
		defer off.Close()
		slow := func(int64) string {
			<-time.After(4 * answer)
			return ""
		}
		origins, err := ParseOrigins([]string{"http://" + off.Addr().String(), "rtmp://" + off.Addr().String(), serve(&source{answer: slow, deliver: forever}, t)})
		if err != nil {
			t.Fatal(err)
		}
		l := &local{}
		l.viewers.Store(1)
		p := newPuller(t, "http://127.0.0.1:1", l, func(o *Options) { o.Origins, o.Answer, o.Start, o.Idle = origins, 2*answer, time.Hour, time.Hour })
		if err := pull(t, p, "live/s"); err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if order := p.health.order(origins, time.Now()); order[0] != origins[2] {
			t.Errorf("%v is asked first", order[0])
		}
	})
}

func TestSilentOrigins(t *testing.T) {
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		s := &source{answer: yes, deliver: func(n int64, out *output) {
			if n > 1 {
				if err := out.send(frame{flv.TagVideo, 0, "\x17\x01\x00\x00\x00x"}); err != nil {
					t.Log(err)
				}
			}
			<-out.gone
		}}
		l := &local{}
		l.viewers.Store(1)
		p := newPuller(t, serve(s, t), l, func(o *Options) {
			o.Start, o.Idle, o.Linger = 50*time.Millisecond, 50*time.Millisecond, time.Minute
		})
		if err := pull(t, p, "live/s"); err == nil {
			t.Error("an origin without frames is one")
		}
		until(t, "there is a frame", func() bool { return pull(t, p, "live/s") == nil })
		until(t, "it is given up when nothing comes", func() bool { return p.Stats().Reconnects > 0 })
	})
}

// An origin that sends a byte now and then, and no frame, is given up as one that is silent; then the next one
// has its turn.
func TestOriginsThatTrickle(t *testing.T) {
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		key := frame{flv.TagVideo, 0, "\x17\x01\x00\x00\x00x"}
		var trickles, next atomic.Int64
		slow := &source{answer: yes, deliver: func(_ int64, out *output) {
			trickles.Add(1)
			if err := out.send(key); err != nil {
				t.Log(err)
			}
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			// The beginning of a long frame, in both protocols: a tag, and a chunk of a stream by its number.
			head := []byte{9, 0, 0xff, 0xff, 0, 0xff, 0xff, 9, 0, 0, 0}
			for i := 0; ; i++ {
				select {
				case <-out.gone:
					return
				case <-tick.C:
				}
				one := byte(0)
				if i < len(head) {
					one = head[i]
				}
				if out.raw([]byte{one}) != nil {
					return
				}
			}
		}}
		good := &source{answer: yes, deliver: func(n int64, out *output) {
			next.Add(1)
			forever(n, out)
		}}
		l := &local{}
		l.viewers.Store(1)
		p := newPuller(t, serve(slow, t), l, func(o *Options) {
			more, err := ParseOrigins([]string{serve(good, t)})
			if err != nil {
				t.Fatal(err)
			}
			o.Origins = append(o.Origins, more...)
			o.Idle, o.Linger = 100*time.Millisecond, time.Minute
		})
		if err := pull(t, p, "live/s"); err != nil {
			t.Fatal(err)
		}
		until(t, "the next one is asked", func() bool { return next.Load() > 0 })
		if n := trickles.Load(); n != 1 {
			t.Errorf("the first was asked %d times", n)
		}
	})
}

// An origin is silent when its publisher is: as long as it says so, the connection stays.
func TestQuietOrigins(t *testing.T) {
	more := make(chan struct{})
	s := &source{answer: yes, deliver: func(n int64, out *output) {
		for i := uint32(0); ; i++ {
			if err := out.send(frame{flv.TagVideo, i, "\x17\x01\x00\x00\x00x"}); err != nil {
				t.Log(err)
			}
			select {
			case <-more:
			case <-out.gone:
				return
			}
		}
	}}
	l := &local{}
	l.viewers.Store(1)
	var asked atomic.Int64
	var loud atomic.Bool
	p := newPuller(t, s.serveHTTP(t), l, func(o *Options) {
		o.Idle, o.Linger = 20*time.Millisecond, time.Minute
		o.Quiet = func(stream string, from *Origin) bool {
			asked.Add(1)
			return stream == "live/s" && from == o.Origins[0] && !loud.Load()
		}
	})
	if err := pull(t, p, "live/s"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		before := asked.Load()
		until(t, "it was silent for several times Idle", func() bool { return asked.Load() >= before+3 })
		more <- struct{}{}
	}
	until(t, "all frames have come", func() bool {
		frames, _ := l.published()[0].got()
		return len(frames) == 4
	})
	if n := p.Stats().Reconnects; n != 0 {
		t.Errorf("%d connections more", n)
	}
	loud.Store(true)
	until(t, "it is given up when that is not the publisher's silence", func() bool { return p.Stats().Reconnects > 0 })
}

func TestCirclesAreCutOff(t *testing.T) {
	s := &source{answer: yes, deliver: forever}
	p := newPuller(t, s.serveHTTP(t), &local{}, nil)
	long := make(Path, maxHops)
	for i := range long {
		long[i] = NewID()
	}
	for _, path := range []Path{{p.ID()}, {NewID(), p.ID(), NewID()}, long} {
		if err := p.Pull(context.Background(), "live/s", path); !errors.Is(err, ErrLoop) {
			t.Errorf("%v: %v", path, err)
		}
	}
	if got := s.asked.Load(); got != 0 {
		t.Errorf("the origin was asked %d times", got)
	}
	if err := p.Pull(context.Background(), "live/s", long[1:]); err != nil {
		t.Error(err)
	}
	if got := s.path.Load().(Path); len(got) != maxHops {
		t.Errorf("the path that goes on is %v", got)
	}
}

// What a viewer says of the servers that its request has passed may be false. It must not
// matter to others: not when they join its pull, nor for as long as its refusal is kept.
func TestALongPathDeniesAStreamToNoOther(t *testing.T) {
	far := make(Path, maxHops-1) // this server is the last that it admits
	for i := range far {
		far[i] = NewID()
	}
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		asked, refuse := make(chan struct{}), make(chan struct{})
		s := &source{deliver: forever}
		s.answer = func(n int64) string {
			if n == 1 {
				close(asked)
				<-refuse
			}
			if len(s.path.Load().(Path)) >= maxHops {
				return missing
			}
			return ""
		}
		p := newPuller(t, serve(s, t), &local{}, func(o *Options) { o.Refuse = time.Hour })
		long := make(chan error, 1)
		go func() { long <- p.Pull(context.Background(), "live/s", far) }()
		<-asked
		own := make(chan error, 1)
		go func() { own <- p.Pull(context.Background(), "live/s", nil) }()
		until(t, "the other request has joined", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.pulls["live/s"].path) == 1
		})
		close(refuse)
		if err := <-own; err != nil {
			t.Errorf("joined: %v", err)
		}
		if err := <-long; err != nil {
			t.Errorf("with the stream there: %v", err)
		}
	})
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		s := &source{deliver: forever}
		s.answer = func(int64) string {
			if len(s.path.Load().(Path)) >= maxHops {
				return missing
			}
			return ""
		}
		p := newPuller(t, serve(s, t), &local{}, func(o *Options) { o.Refuse = time.Hour })
		for range 3 {
			if err := p.Pull(context.Background(), "live/s", far); !errors.Is(err, ErrNotFound) {
				t.Errorf("a path that is too long: %v", err)
			}
		}
		if n := s.asked.Load(); n != 1 {
			t.Errorf("the origin was asked %d times", n)
		}
		if err := pull(t, p, "live/s"); err != nil {
			t.Errorf("after its refusal: %v", err)
		}
	})
}

func TestStreamThatIsHereAlready(t *testing.T) {
	s := &source{answer: yes, deliver: forever}
	l := &local{busy: live.ErrBusy}
	p := newPuller(t, s.serveHTTP(t), l, nil)
	if err := pull(t, p, "live/s"); err != nil {
		t.Error(err)
	}
	l.busy = errors.New("no room")
	until(t, "the reason is told", func() bool { return errors.Is(pull(t, p, "live/s"), l.busy) })
}

func TestTakenOverHere(t *testing.T) {
	s := &source{answer: yes, deliver: forever}
	l := &local{}
	l.viewers.Store(1)
	p := newPuller(t, s.serveRTMP(t), l, nil)
	if err := pull(t, p, "live/s"); err != nil {
		t.Fatal(err)
	}
	l.published()[0].fail(live.ErrTakenOver)
	until(t, "the pull has ended", func() bool { return p.Stats().Active == 0 && s.open.Load() == 0 })
	if got := s.asked.Load(); got != 1 {
		t.Errorf("the origin was asked %d times", got)
	}
}

func TestNoMoreThanMax(t *testing.T) {
	s := &source{answer: yes, deliver: forever}
	l := &local{}
	l.viewers.Store(1)
	p := newPuller(t, s.serveHTTP(t), l, func(o *Options) { o.Max = 1 })
	if err := pull(t, p, "live/s"); err != nil {
		t.Fatal(err)
	}
	if err := pull(t, p, "live/t"); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}

func TestViewerWhoDoesNotWait(t *testing.T) {
	s := &source{answer: yes, deliver: func(_ int64, out *output) { <-out.gone }}
	p := newPuller(t, s.serveRTMP(t), &local{}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Pull(ctx, "live/s", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	ways(t, func(t *testing.T, serve func(*source, *testing.T) string) {
		s := &source{answer: yes, deliver: forever}
		l := &local{}
		l.viewers.Store(1)
		p := newPuller(t, serve(s, t), l, nil)
		if err := pull(t, p, "live/s"); err != nil {
			t.Fatal(err)
		}
		p.Close()
		if _, over := l.published()[0].got(); !over {
			t.Error("the stream is open")
		}
		if err := pull(t, p, "live/s"); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		p.Close()
	})
}
