package live

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// A Stream is what one publisher at a time appends to and any number of viewers
// read: a ring of the newest frames, which are muxed once and never change.
// It outlives its publisher by the grace period.
type Stream struct {
	name    string
	options StreamOptions
	begun   time.Time
	account *account
	forget  func(*Stream)
	done    chan struct{}

	mu       sync.Mutex
	ring     ring
	times    timeline
	now      *Publisher
	latest   string // name of the latest publisher
	over     bool
	cut      bool // the hub was closed before the stream was over
	grace    *time.Timer
	groups   []*group      // notified of new frames
	changed  chan struct{} // closed with the next change; nil when no goroutine waits
	claims   claims
	arriving int // viewers that no loop has looked at yet
	holders  int // viewers, readers and open claims: after the end the last to leave frees the ring
	pace     pace
	received counters
	sent     totals
	watched  atomic.Bool // the publisher is too fast: loops survey their viewers
}

// counters of what a publisher sent, under the stream's lock.
type counters struct {
	frames, bytes int64
	gopFrames     int // of video since the newest key frame
	gopBytes      int
	gop           groupOfPictures // the latest that is complete
	gopFrom       uint32
}

type groupOfPictures struct {
	frames, bytes int
	length        time.Duration
}

// totals of what viewers were sent.
type totals struct {
	viewers, frames, bytes, dropped, jumps, evicted atomic.Int64
}

func newStream(name string, o StreamOptions, a *account, forget func(*Stream)) *Stream {
	a.streams.Add(1)
	return &Stream{
		name: name, options: o, begun: time.Now(), account: a, forget: forget,
		done: make(chan struct{}), ring: newRing(o, a),
	}
}

// Name returns the name that the stream was published under.
func (s *Stream) Name() string { return s.name }

// Since returns when the stream began.
func (s *Stream) Since() time.Time { return s.begun }

// Done is closed when the stream is over: its publisher has gone and the grace
// period has passed. Viewers may still be sent what is left.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Publisher returns who publishes now, or nil.
func (s *Stream) Publisher() *Publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// clock is the time since the stream began, in ns.
func (s *Stream) clock() int64 { return int64(time.Since(s.begun)) }

// publisher adds a new publisher, which becomes the current one.
func (s *Stream) publisher(o PublishOptions) (*Publisher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, ErrClosed
	}
	if s.now != nil {
		if !o.TakeOver {
			return nil, ErrBusy
		}
		s.now.finish(ErrTakenOver)
	}
	if s.grace != nil {
		s.grace.Stop()
		s.grace = nil
	}
	s.times.resume()
	s.pace = pace{}
	s.now = &Publisher{s: s, name: o.Name, since: time.Now(), done: make(chan struct{})}
	s.latest = o.Name
	return s.now, nil
}

// leave is called when p goes.
func (s *Stream) leave(p *Publisher) {
	s.mu.Lock()
	if s.now != p {
		s.mu.Unlock()
		return
	}
	s.now = nil
	if s.options.Grace > 0 && !s.over {
		s.grace = time.AfterFunc(s.options.Grace, s.alone)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.end()
}

// alone ends the stream when no publisher has come back.
func (s *Stream) alone() {
	s.mu.Lock()
	back := s.now != nil
	s.mu.Unlock()
	if !back {
		s.end()
	}
}

// interrupt is called when the hub is closed, before end.
func (s *Stream) interrupt() {
	s.mu.Lock()
	s.cut = !s.over
	s.mu.Unlock()
}

// end ends the stream. Its viewers are woken, and get what is left.
func (s *Stream) end() {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	s.over = true
	if s.now != nil {
		s.now.finish(ErrClosed)
		s.now = nil
	}
	if s.grace != nil {
		s.grace.Stop()
	}
	close(s.done)
	s.account.streams.Add(-1)
	s.wakeAll()
	s.letGo()
	s.mu.Unlock()
	s.forget(s)
}

// release is called when one of holders goes.
func (s *Stream) release() {
	s.mu.Lock()
	s.holders--
	s.letGo()
	s.mu.Unlock()
}

func (s *Stream) letGo() {
	if s.over && s.holders == 0 {
		s.ring.bodies.drop()
		s.ring.chunks.drop()
		s.ring.first, s.ring.hasKey = s.ring.next, false
	}
}

// publish appends a frame of p's. payload is borrowed until it returns.
func (s *Stream) publish(p *Publisher, typ flv.TagType, at uint32, payload mem.Buf) error {
	if payload.Len() > s.options.MaxFrame {
		return fmt.Errorf("%w: %d bytes in one, at most %d", ErrFrame, payload.Len(), s.options.MaxFrame)
	}
	if !s.options.Raw && typ != flv.TagAudio && typ != flv.TagVideo && typ != flv.TagScript {
		return fmt.Errorf("%w: %v is neither audio nor video nor script data", ErrFrame, typ)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != p {
		return p.err
	}
	k, t := kind(0), track(0)
	if !s.options.Raw {
		k, t = s.ring.classify(typ, payload.Bytes())
	}
	if s.watch(s.pace.tooFast(s, at, k)) && !s.slow(p, at) {
		return p.err
	}
	now := s.clock()
	out := s.times.place(at, k)
	s.ring.push(typ, k, t, out, now, payload)
	s.trim(now)
	s.received.count(k, out, payload.Len())
	s.wake()
	return nil
}

func (c *counters) count(k kind, at uint32, n int) {
	c.frames++
	c.bytes += int64(n)
	if k&isKey != 0 {
		if c.gopFrames > 0 {
			c.gop = groupOfPictures{c.gopFrames, c.gopBytes, time.Duration(int32(at-c.gopFrom)) * time.Millisecond}
		}
		c.gopFrames, c.gopBytes, c.gopFrom = 0, 0, at
	}
	if k.picture() && k&isSide == 0 {
		c.gopFrames++
		c.gopBytes += n
	}
}

// wake wakes the groups and readers that wait for frames. A group that was notified
// already is not notified again.
func (s *Stream) wake() {
	for _, g := range s.groups {
		if !g.told {
			g.told = true
			g.loop.tell(g)
		}
	}
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// wakeAll notifies all groups and readers that the stream is over.
func (s *Stream) wakeAll() {
	for _, g := range s.groups {
		g.told = false
	}
	s.wake()
}
