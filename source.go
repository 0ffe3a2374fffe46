package sluice

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// RawReader is for connections of other types that wrap nothing: reading from
// the descriptor that RawRead gives is the same as calling Read. A reader over
// one holds no memory while it waits, as over *net.TCPConn. Types that embed a
// connection and change what Read does must not have this method.
type RawReader interface {
	io.Reader
	RawRead() syscall.Conn
}

// readerSource reads from any io.Reader.
type readerSource struct {
	r    io.Reader
	conn bool // it has deadlines, so it is something that waits
	// Over sources that are not known to wait, probing is done less and less
	// often while they do not.
	pause, next int
}

// noProgress is how many reads of nothing in a row end in io.ErrNoProgress, as
// in bufio.
const noProgress = 100

// mostPause bounds the reads between two that probe.
const mostPause = 64

func (s *readerSource) fetch(b *BufReader) error {
	probing := s.probe(b)
	b.size.probing = probing
	p, err := b.roomOrWait()
	b.size.probing = false
	if err != nil {
		return err
	}
	// Reads go on until what was asked for is there, which is cheaper than to
	// come back here for each; but a timeout is for each.
	want := 1
	if !probing && (b.x == nil || b.x.plain(0)) {
		want = min(b.need-(b.w-b.r), len(p))
	}
	var start time.Time
	if probing && !s.conn {
		start = time.Now()
	}
	n, err := s.fill(p, want)
	if probing && !s.conn {
		s.learn(time.Since(start))
	}
	if n == 0 {
		b.idle()
		return err
	}
	b.received(n, len(p))
	b.err = err
	return nil
}

// fill reads into p until there are want bytes.
func (s *readerSource) fill(p []byte, want int) (got int, err error) {
	for empty := 0; got < want && err == nil; {
		var n int
		n, err = s.r.Read(p[got:])
		if uint(n) > uint(len(p)-got) {
			panicRead(n, len(p)-got)
		}
		if got += n; n > 0 {
			empty = 0
		} else if empty++; empty == noProgress && err == nil {
			err = io.ErrNoProgress
		}
	}
	return got, err
}

// probe reports whether the next read should ask with the smallest block: a
// source that gave less than there was room for has no more at hand, so the
// read is likely to wait, and only the smallest block waits.
func (s *readerSource) probe(b *BufReader) bool {
	if !b.size.drained || b.size.pinned > 0 || b.w > b.base() {
		return false
	}
	if s.pause > 0 {
		s.pause--
		return false
	}
	if b.x != nil && b.x.gather.on {
		b.x.gather.idle()
	}
	return true
}

// learn notes how long a probing read took: one that did not wait makes the
// next probe later.
func (s *readerSource) learn(took time.Duration) {
	if took > waited {
		s.pause, s.next = 0, 1
		return
	}
	s.pause = max(s.next, 1)
	s.next = min(2*s.pause, mostPause)
}

// waited is how long a Read takes that has waited for somebody: more than the
// copy of a block, less than a goroutine's way to sleep and back.
const waited = 5 * time.Microsecond

func (s *readerSource) reader() io.Reader { return s.r }
func (s *readerSource) close()            {}

// deadliner is what SetTimeout and SetContext need of a source.
type deadliner interface{ SetReadDeadline(time.Time) error }

// roomOrWait is room that waits while the budget has none for an empty
// window. A reader that holds part of a frame does not wait for more: readers
// that wait for each other's memory would wait for ever.
func (b *BufReader) roomOrWait() ([]byte, error) {
	for {
		p, err := b.room()
		if err == nil || !errors.Is(err, ErrBudget) || b.slab.Valid() || b.queued() > 0 {
			return p, err
		}
		if err := b.awaitBudget(); err != nil {
			return nil, err
		}
	}
}

// budgetPoll bounds how long a wait for memory overlooks that the connection
// was closed.
const budgetPoll = 100 * time.Millisecond

// awaitBudget returns when the budget had room, or with the reason to wait no
// longer.
func (b *BufReader) awaitBudget() error {
	parent := context.Background()
	if b.x != nil && b.x.ctx != nil {
		parent = b.x.ctx
	}
	var end time.Time
	if b.x != nil && b.x.timeout > 0 {
		end = time.Now().Add(b.x.timeout)
	}
	least := b.need
	if b.x != nil && b.x.gather.on {
		least = min(least, firstBlock)
	}
	for {
		ctx, cancel := context.WithTimeout(parent, budgetPoll)
		buf, err := b.alloc.GetContext(ctx, least)
		timeUp := ctx.Err() != nil
		cancel()
		if err == nil {
			// The room is free; room takes it in a moment, or waits again.
			buf.Release()
			return nil
		}
		if parent.Err() != nil {
			return errors.Join(err, context.Cause(parent))
		}
		if !timeUp {
			return err
		}
		if !end.IsZero() && time.Now().After(end) {
			return errors.Join(err, os.ErrDeadlineExceeded)
		}
		if c, ok := b.src.(interface{ alive() error }); ok {
			if err := c.alive(); err != nil {
				return err
			}
		}
	}
}

// queues reports whether a source brings blocks of its own.
func queues(s source) bool {
	_, ok := s.(interface{ queues() })
	return ok
}
