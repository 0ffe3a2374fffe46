package live

import (
	"context"
	"io"
	"time"
)

// ReaderOptions configure a Reader.
type ReaderOptions struct {
	// FromStart begins at the stream's first frame if everything is still
	// there, and otherwise at the newest key frame, as without it.
	FromStart bool
	// Bytes is about how much Next returns at the most; 128 KiB.
	Bytes int
	// Gather is how long frames are collected, from the end of what Next has returned on, and
	// at most half of StreamOptions.Backlog. Next then returns with the first frame that comes,
	// or earlier with 1 MiB, a quarter of the stream's GOPBytes, or very many frames, and at
	// once until it has returned all. The publisher wakes it, so that a timer fires in pauses
	// only: frames that none follows wait for half as long again. 0 collects nothing.
	Gather time.Duration
}

// A Reader reads a stream as an FLV file, for programs that do not send it to a
// connection, such as a recorder. Like a viewer it is a cursor, and never delays the
// stream: when it falls out of the ring it goes on at the newest key frame.
// It is used by one goroutine at a time.
type Reader struct {
	s      *Stream
	cursor cursor
	bytes  int
	out    []byte
	ended  bool

	gather time.Duration
	due    int64         // when frames are to be returned, on the stream's clock
	timer  *time.Timer   // for frames that none follows; nil without gather
	timed  bool          // it has been set since frames were returned
	waits  bool          // in the stream's list; under its lock, as due
	woken  chan struct{} // one token
}

const (
	// gatherBytes and gatherFrames are not waited beyond: a ring is bounded by both.
	gatherBytes  = 1 << 20
	gatherFrames = 256
)

// NewReader returns a reader of s, to be closed. It returns ErrClosed when s is
// over and no viewer or reader has it any more, and panics for a stream with Raw or
// Packets set, which is no FLV file.
func (s *Stream) NewReader(o ReaderOptions) (*Reader, error) {
	if s.options.bare() {
		panic("live: NewReader of a stream with Raw or Packets set")
	}
	r := &Reader{s: s, bytes: o.Bytes, gather: min(o.Gather, s.options.Backlog/2), woken: make(chan struct{}, 1)}
	if r.bytes <= 0 {
		r.bytes = visit
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end.over && s.holders == 0 {
		return nil, ErrClosed
	}
	s.holders++
	r.cursor = newCursor(FormFLV, &s.ring, o.FromStart, new(batch))
	return r, nil
}

// Next waits for more and returns it: whole FLV tags, the file's header before
// the first, borrowed until the next call of Next or Close. dropped is how many
// tags were left out before them, because the reader was too slow. It returns
// io.EOF when the stream is over and everything was read, and the context's
// cause when that ends and everything that had come was read.
func (r *Reader) Next(ctx context.Context) (p []byte, dropped int, err error) {
	for !r.ended {
		r.fill(&dropped, ctx.Err() != nil)
		if len(r.out) > 0 {
			return r.out, dropped, nil
		}
		if r.ended {
			break
		}
		if ctx.Err() != nil {
			return nil, dropped, context.Cause(ctx)
		}
		r.wait(ctx)
	}
	return nil, dropped, io.EOF
}

// wait waits until the stream wakes r, ctx is done, or frames have waited long enough.
func (r *Reader) wait(ctx context.Context) {
	var late <-chan time.Time
	if r.gather > 0 && !r.timed {
		r.timed = true
		// Not at the moment itself: the next frame, which saves this, is often close.
		within := r.gather + r.gather/2
		if r.timer == nil {
			r.timer = time.NewTimer(within)
		} else {
			r.timer.Reset(within)
		}
	}
	if r.timer != nil {
		late = r.timer.C
	}
	select {
	case <-r.woken:
	case <-late:
	case <-ctx.Done():
	}
}

// fill copies frames into out, those that are collected too when all is set. When there
// are none to return, the stream will wake r.
func (r *Reader) fill(dropped *int, all bool) {
	r.out = r.out[:0]
	s, c := r.s, &r.cursor
	s.mu.Lock()
	defer s.mu.Unlock()
	c.fallen(&s.ring)
	n, ok := c.find(&s.ring)
	*dropped += int(n)
	if ok && c.seq < s.ring.next && (all || s.end.over || r.ready()) {
		c.seq = c.fill(&s.ring, s.ring.next, r.bytes)
		for _, p := range c.own.parts {
			r.out = append(r.out, p...)
		}
		c.own.reset()
		r.timed = false
		if r.due = 0; r.gather > 0 && c.seq == s.ring.next {
			r.due = s.clock() + int64(r.gather)
		}
		return
	}
	if s.end.over {
		r.ended = true
		return
	}
	if !r.waits {
		r.waits = true
		s.waiting = append(s.waiting, r)
	}
}

// ready reports whether r returns what there is. The stream's lock is held.
func (r *Reader) ready() bool {
	c, ring := &r.cursor, &r.s.ring
	switch {
	case r.due == 0, !c.begun, c.moved, c.seq < ring.first, ring.next-c.seq >= gatherFrames:
		return true
	case ring.bodies.end-ring.place(c.seq) >= int64(min(gatherBytes, r.s.options.GOPBytes/4)):
		return true
	}
	return r.s.clock() >= r.due
}

// wake wakes r if it has something to do. The stream's lock is held, and r is no longer in
// its list when it returns true.
func (r *Reader) wake(over bool) bool {
	if !over && !r.ready() {
		return false
	}
	r.waits = false
	select {
	case r.woken <- struct{}{}:
	default: // it has been woken for what it has read already
	}
	return true
}

// Close ends the use of the stream. A second Close does nothing.
func (r *Reader) Close() {
	if r.s == nil {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.cursor.drop()
	r.s.quit(r)
	r.s, r.ended = nil, true
}
