package live

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Stream is what one publisher at a time appends to and any number of viewers
// read: a ring of the newest frames, which are muxed once and never change.
// It outlives its publisher by the grace period.
type Stream struct {
	// First what each frame needs, together: a server with many publishers has to fetch it
	// for each.

	options StreamOptions
	begun   time.Time
	account *account

	mu       sync.Mutex
	now      *Publisher
	watched  atomic.Bool // the publisher is too fast: loops survey their viewers
	hurry    bool        // the publisher does not wait
	end      ending
	ring     ring
	times    timeline
	pace     pace
	received counters
	audience
	standbys standbys

	sent   totals
	name   string
	forget func(*Stream)
	done   chan struct{}
}

// ending is how far a stream is from its end.
type ending struct {
	grace *time.Timer // runs while there is no publisher
	over  bool
	atKey bool // it ends before its next key frame
	cut   bool // the hub was closed before the stream was over
}

func newStream(name string, o StreamOptions, a *account, forget func(*Stream)) *Stream {
	a.rings.Add(1)
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

// clock is the time since the stream began, in ns.
func (s *Stream) clock() int64 { return int64(time.Since(s.begun)) }

// leave is called when p goes.
func (s *Stream) leave(p *Publisher) {
	s.mu.Lock()
	waited := p.warm != nil
	s.standbys.remove(p)
	switch {
	case s.now == p:
		s.now = nil
	case waited && s.now == nil && s.end.grace == nil: // nothing else keeps the stream
	default:
		s.mu.Unlock()
		return
	}
	if s.options.Grace > 0 && !s.end.over {
		s.linger()
		s.mu.Unlock()
		return
	}
	waits := len(s.standbys.waiting) > 0
	s.mu.Unlock()
	if !waits {
		s.finish()
	}
}

// linger begins the grace period. The lock is held.
func (s *Stream) linger() { s.end.grace = time.AfterFunc(s.options.Grace, s.alone) }

// alone ends the stream when no publisher has come back and none waits.
func (s *Stream) alone() {
	s.mu.Lock()
	s.end.grace = nil
	stays := s.now != nil || len(s.standbys.waiting) > 0
	if s.now == nil && s.holders == 0 {
		s.ring.empty() // who comes later must not get what is old
	}
	s.mu.Unlock()
	if !stays {
		s.finish()
	}
}

// interrupt is called when the hub is closed, before finish.
func (s *Stream) interrupt() {
	s.mu.Lock()
	s.end.cut = !s.end.over
	s.mu.Unlock()
}

// finish ends the stream. Its viewers are woken, and get what is left.
func (s *Stream) finish() {
	s.mu.Lock()
	if s.end.over {
		s.mu.Unlock()
		return
	}
	s.end.over = true
	if s.now != nil {
		s.now.finish(ErrClosed)
		s.now = nil
	}
	for len(s.standbys.waiting) > 0 {
		p := s.standbys.waiting[0]
		p.finish(ErrClosed)
		s.standbys.remove(p)
	}
	if s.end.grace != nil {
		s.end.grace.Stop()
	}
	close(s.done)
	s.account.rings.Add(-1)
	s.wakeAll(true)
	s.letGo()
	s.mu.Unlock()
	s.forget(s)
}

// store puts a frame of p's, borrowed, that came now into the ring. It is called with the
// lock held, as those below.
func (s *Stream) store(p *Publisher, f Frame, k kind, t track, now int64) {
	s.standbys.fresh = now
	out := s.times.place(f.Time, k)
	s.ring.push(f.Type, k, t, out, now, f.Payload)
	if s.options.Marks {
		m := f.Mark
		if m == (Mark{}) {
			m = s.numbers(p).next(out)
		}
		s.ring.setMark(s.ring.next-1, m)
	}
	s.trim(now)
	s.received.count(k, out, f.Payload.Len())
}

// append appends a frame, borrowed, of p, which publishes now.
func (s *Stream) append(p *Publisher, f Frame, now int64) {
	k, t := s.ring.classify(f.Type, f.Payload.Bytes())
	s.store(p, f, k, t, now)
}

// begin makes p the stream's publisher.
func (s *Stream) begin(p *Publisher) {
	if s.end.grace != nil {
		s.end.grace.Stop()
		s.end.grace = nil
	}
	s.times.resume()
	s.pace = pace{}
	s.now = p
}

// numbers are those of p's frames.
func (s *Stream) numbers(p *Publisher) *numbers {
	if p.standby {
		return &s.standbys.numbers
	}
	return &p.own
}

// letGo frees the ring when the stream is over and no reader is left.
func (s *Stream) letGo() {
	if s.end.over && s.holders == 0 {
		s.ring.empty()
	}
}

// endReservations ends n reservations, if there are any.
func (s *Stream) endReservations(n int) {
	if s.reservations.open == 0 {
		return
	}
	if s.reservations.open -= min(n, s.reservations.open); s.reservations.open == 0 {
		s.reservations.timer.Stop()
		s.leaves()
		s.caughtUp()
	}
}

// trim lets go of what is too old or too much.
func (s *Stream) trim(now int64) {
	most := s.account.share()
	s.ring.trim(&s.options, s.backlog(now), most, now)
	s.standbys.trim(most)
}

// fastBacklog is for how long frames are kept of a publisher that is faster than real time:
// it is for the bounds of frames and bytes to say when it has to wait.
const fastBacklog = time.Hour

// backlog is for how long frames before the newest key frame are kept: they are for those
// who lag. When there has been none to do so for as long, those who come begin at the key
// frame. A new stream waits for its first ones no longer than for reservations.
func (s *Stream) backlog(now int64) time.Duration {
	b := s.options.Backlog
	alone := b
	if s.left == 0 {
		alone = min(b, reservationTime)
	}
	switch {
	case s.holders > 0 && s.watched.Load():
		return max(b, fastBacklog) // the publisher waits for those who lag
	case s.holders > 0 || time.Duration(now-s.left) <= alone:
		return b
	}
	return 0
}

// release is called when one of holders goes.
func (s *Stream) release() {
	s.mu.Lock()
	s.leaves()
	s.mu.Unlock()
}

// quit is release for one that may wait.
func (s *Stream) quit(w waiter) {
	s.mu.Lock()
	s.waiting = slices.DeleteFunc(s.waiting, func(o waiter) bool { return o == w })
	s.leaves()
	s.mu.Unlock()
}

// leaves is release with the lock held.
func (s *Stream) leaves() {
	if s.holders--; s.holders == 0 {
		s.left = s.clock()
	}
	s.letGo()
}

// expect opens n reservations to a stream that is new.
func (s *Stream) expect(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 {
		return
	}
	s.reservations.open = n
	s.holders++
	s.reservations.timer = time.AfterFunc(reservationTime, s.unexpect)
}

// unexpect closes all reservations.
func (s *Stream) unexpect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endReservations(s.reservations.open)
}

// came returns when frame seq came, or otherwise if it has been let go.
func (s *Stream) came(seq uint64, otherwise int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := &s.ring; seq >= r.first && seq < r.next {
		return r.at(seq).came
	}
	return otherwise
}

// byteRate is about how many bytes a second come, or 0 when that is not known.
func (s *Stream) byteRate() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ring.byteRate(s.clock())
}
