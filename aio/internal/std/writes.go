package std

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// gatherTime is how long a gather of several writes may take. When it takes
// longer the peer is slow, and one write at a time goes out, so that the first is
// reported when it is out, and not when those behind it are.
const gatherTime = 5 * time.Millisecond

// write carries out what is in front of the queue, or a part of it. It is called
// with mu held, which it releases meanwhile.
func (dir *direction) write() {
	d := dir.conn.driver
	dir.startTogether()
	if o := dir.flight[0]; o.Kind.IsMark() {
		dir.pass(o)
		return
	}
	until := dir.sendUntil()
	d.mu.Unlock()
	var n, calls int
	var err error
	switch {
	case passed(until):
		err = op.ErrDeadline
	case dir.arm(until):
		calls = 1
		n, err = dir.send()
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		err = dir.closedError(err)
	}
	d.mu.Lock()
	d.counters.WriteCalls += uint64(calls)
	dir.account(n, err, until)
	for i, o := range dir.finished {
		d.complete(o, o.err)
		dir.finished[i] = nil
	}
	dir.finished = dir.finished[:0]
}

// pass completes a mark: all writes before it are out. It is called with mu held, which
// it may release meanwhile.
func (dir *direction) pass(mark *operation) {
	d := dir.conn.driver
	err := mark.err
	if mark.Kind == op.EndWrites && err == nil {
		dir.shut = true
		d.mu.Unlock()
		if half, ok := dir.conn.conn.(interface{ CloseWrite() error }); ok {
			err = dir.closedError(half.CloseWrite())
		} else {
			err = op.ErrUnsupported
		}
		d.mu.Lock()
	}
	dir.flight = dir.flight[:0]
	d.complete(mark, err)
}

// startTogether takes out of the queue what goes out together: one write, or as many as fit
// into a gather.
func (dir *direction) startTogether() {
	bytes, parts := 0, 0
	count := func(o *operation) {
		bytes += o.total - o.n
		parts++
		if o.Kind == op.WriteMemory {
			parts += len(o.Memory.Buffers) - 1
		}
	}
	for _, o := range dir.flight {
		count(o)
	}
	for dir.head != nil {
		if len(dir.flight) > 0 {
			if !dir.joins || dir.alone || dir.head.Kind.IsMark() || dir.flight[0].Kind.IsMark() {
				return
			}
			if count(dir.head); bytes > gatherBytes || parts > gatherParts {
				return
			}
		} else {
			count(dir.head)
		}
		dir.start()
	}
}

// sendUntil is when the call must be back, for the first deadline in flight.
func (dir *direction) sendUntil() time.Time {
	var until time.Time
	if len(dir.flight) > 1 {
		until = time.Now().Add(gatherTime)
	}
	for _, o := range dir.flight {
		if !o.Deadline.IsZero() && (until.IsZero() || o.Deadline.Before(until)) {
			until = o.Deadline
		}
	}
	return until
}

// send writes what is in flight, by one call, or a part of it. The lists that it
// reads are the goroutine's own while it is in flight.
func (dir *direction) send() (int, error) {
	if dir.gather == nil {
		dir.gather = new(gather)
	}
	g := dir.gather
	g.room = g.room[:0]
	if !dir.stream {
		return dir.sendOne(dir.flight[0])
	}
	for _, o := range dir.flight {
		g.add(o, math.MaxInt)
	}
	if len(g.room) > 1 {
		g.left = g.room
		n, err := g.left.WriteTo(dir.conn.conn)
		clear(g.room)
		g.left = nil
		return int(n), err
	}
	return dir.sendPart(g.takeFirst())
}

// sendOne writes what is next of o, the small parts of a Memory together, and all of a message.
func (dir *direction) sendOne(o *operation) (int, error) {
	g, most := dir.gather, writeTogether
	if dir.messages {
		most = min(o.total, math.MaxInt32) // more is no message for any system
	}
	g.add(o, most)
	if len(g.room) == 1 {
		return dir.sendPart(g.takeFirst())
	}
	together := dir.conn.driver.settings.Allocator.Get(most)
	defer together.Release()
	p, n := together.Bytes(), 0
	for _, part := range g.room {
		n += copy(p[n:], part)
	}
	clear(g.room)
	return dir.sendPart(p[:n])
}

// sendPart writes p by one call, or a part of it.
func (dir *direction) sendPart(p []byte) (int, error) {
	n, err := dir.conn.conn.Write(p)
	if n < 0 || n > len(p) {
		return 0, fmt.Errorf("aio: %T.Write of %d bytes returned %d", dir.conn.conn, len(p), n)
	}
	return n, err
}

// account accounts for n bytes that were written, and for the error that came with
// them, and lists in finished the operations that have ended, with their errors in
// err. The others stay in flight, or go back into the queue.
func (dir *direction) account(n int, err error, until time.Time) {
	d, c := dir.conn.driver, dir.conn
	timedOut := false
	if err != nil && (dir.interrupted || !until.IsZero()) && (err == op.ErrDeadline || isTimeout(err, until)) {
		timedOut, err = true, nil
	}
	if dir.interrupted {
		until = time.Now()
	}
	d.counters.BytesWritten += uint64(n)
	d.counters.QueuedBytes -= int64(n)
	dir.queued -= n
	left := dir.flight[:0]
	for _, o := range dir.flight {
		m := min(n, o.total-o.n)
		n -= m
		o.n += m
		if o.held == 0 {
			dir.keeps(-m)
		}
		switch {
		case o.n == o.total && c.ending == nil:
			o.err = nil
		case o.err != nil:
		case timedOut && !o.Deadline.IsZero() && !o.Deadline.After(until):
			o.err = op.ErrDeadline
		case err != nil:
			o.err, err = err, nil
		default:
			left = append(left, o)
			continue
		}
		o.phase = ended
		dir.finished = append(dir.finished, o)
	}
	clear(dir.flight[len(left):])
	dir.flight = left
	if len(left) == 0 {
		dir.alone = false
	} else if timedOut && !dir.interrupted {
		dir.alone = true
		for i := len(left) - 1; i > 0; i-- {
			dir.pushFront(left[i])
			d.hold(left[i])
			left[i] = nil
		}
		dir.flight = left[:1]
	}
}
