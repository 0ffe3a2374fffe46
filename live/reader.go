package live

import (
	"context"
	"io"
)

// ReaderOptions configure a Reader.
type ReaderOptions struct {
	// FromStart begins at the stream's first frame if everything is still
	// there, and otherwise at the newest key frame, as without it.
	FromStart bool
	// Bytes is about how much Next returns at the most; 128 KiB.
	Bytes int
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
}

// NewReader returns a reader of s, to be closed. It returns ErrClosed when s is
// over.
func (s *Stream) NewReader(o ReaderOptions) (*Reader, error) {
	if s.options.bare() {
		panic("live: NewReader of a stream with Raw or Packets set")
	}
	r := &Reader{s: s, bytes: o.Bytes}
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
// cause when that ends.
func (r *Reader) Next(ctx context.Context) (p []byte, dropped int, err error) {
	for !r.ended {
		wait := r.fill(&dropped)
		if len(r.out) > 0 {
			return r.out, dropped, nil
		}
		if r.ended {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, dropped, context.Cause(ctx)
		}
	}
	return nil, dropped, io.EOF
}

// fill copies available frames into out, or returns a channel that is closed when
// there are more.
func (r *Reader) fill(dropped *int) <-chan struct{} {
	r.out = r.out[:0]
	s, c := r.s, &r.cursor
	s.mu.Lock()
	defer s.mu.Unlock()
	c.fallen(&s.ring)
	n, ok := c.find(&s.ring)
	*dropped += int(n)
	if ok && c.seq < s.ring.next {
		c.seq = c.fill(&s.ring, s.ring.next, r.bytes)
		for _, p := range c.own.parts {
			r.out = append(r.out, p...)
		}
		c.own.reset()
		return nil
	}
	if s.end.over {
		r.ended = true
		return nil
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Close ends the use of the stream. A second Close does nothing.
func (r *Reader) Close() {
	if r.s == nil {
		return
	}
	r.cursor.drop()
	r.s.release()
	r.s, r.ended = nil, true
}
