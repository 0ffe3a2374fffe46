package aio

import (
	"fmt"
	"io"
	"math"
	"net"
	"time"
)

// How much of the queue goes out in one gather.
const (
	gatherParts = 256
	gatherBytes = 256 << 10
)

// writeTogether is how many bytes of small parts go out in one Write of a connection
// that does not gather: what a TLS record has. A Write for each part of a Memory
// would be a record, and a system call, for each.
const writeTogether = 16 << 10

// gatherPatience is how long a gather of several writes may take. When it takes
// longer the peer is slow, and one write at a time goes out, so that the first is
// reported when it is out, and not when those behind it are.
const gatherPatience = 5 * time.Millisecond

// stdGather is scratch: net.Buffers.WriteTo moves the slice along that it is given,
// and writes nil into what it has passed.
type stdGather struct {
	room net.Buffers
	left net.Buffers
}

// write carries out what is in front of the queue, or a part of it. It is called
// with mu held, which it releases meanwhile.
func (l *stdLane) write() {
	s := l.conn.std
	l.fly()
	until := l.sendUntil()
	s.mu.Unlock()
	var n, calls int
	var err error
	switch {
	case passed(until):
		err = ErrDeadline
	case l.arm(until):
		calls = 1
		n, err = l.send()
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		err = l.closedError(err)
	}
	s.mu.Lock()
	s.count.WriteCalls += uint64(calls)
	l.land(n, err, until)
	for i, op := range l.landed {
		s.complete(op, op.err)
		l.landed[i] = nil
	}
	l.landed = l.landed[:0]
}

// fly takes out of the queue what goes out together: one write, or as many as fit
// into a gather.
func (l *stdLane) fly() {
	bytes, parts := 0, 0
	count := func(op *stdOp) {
		bytes += op.total - op.n
		parts++
		if op.kind == writeMemory {
			parts += len(op.memory.Buffers) - 1
		}
	}
	for _, op := range l.flight {
		count(op)
	}
	for l.head != nil {
		if len(l.flight) > 0 {
			if !l.joins || l.alone {
				return
			}
			if count(l.head); bytes > gatherBytes || parts > gatherParts {
				return
			}
		} else {
			count(l.head)
		}
		l.board()
	}
}

// sendUntil is when the call must be back, for the first deadline in flight.
func (l *stdLane) sendUntil() time.Time {
	var until time.Time
	if len(l.flight) > 1 {
		until = time.Now().Add(gatherPatience)
	}
	for _, op := range l.flight {
		if !op.deadline.IsZero() && (until.IsZero() || op.deadline.Before(until)) {
			until = op.deadline
		}
	}
	return until
}

// send writes what is in flight, by one call, or a part of it. The lists that it
// reads are the goroutine's own while it is in flight.
func (l *stdLane) send() (int, error) {
	if l.gather == nil {
		l.gather = new(stdGather)
	}
	g := l.gather
	g.room = g.room[:0]
	if !l.stream {
		return l.sendOne(l.flight[0])
	}
	for _, op := range l.flight {
		g.add(op, math.MaxInt)
	}
	if len(g.room) > 1 {
		g.left = g.room
		n, err := g.left.WriteTo(l.conn.conn)
		clear(g.room)
		g.left = nil
		return int(n), err
	}
	return l.sendPart(g.takeFirst())
}

// sendOne writes what is next of op, the small parts of a Memory together.
func (l *stdLane) sendOne(op *stdOp) (int, error) {
	g := l.gather
	g.add(op, writeTogether)
	if len(g.room) == 1 || l.messages {
		return l.sendPart(g.takeFirst())
	}
	together := l.conn.std.options.Allocator.Get(writeTogether)
	defer together.Release()
	p, n := together.Bytes(), 0
	for _, part := range g.room {
		n += copy(p[n:], part)
	}
	clear(g.room)
	return l.sendPart(p[:n])
}

// takeFirst returns the first part and forgets all of them.
func (g *stdGather) takeFirst() []byte {
	p := g.room[0]
	clear(g.room)
	return p
}

// sendPart writes p by one call, or a part of it.
func (l *stdLane) sendPart(p []byte) (int, error) {
	n, err := l.conn.conn.Write(p)
	if n < 0 || n > len(p) {
		return 0, fmt.Errorf("aio: %T.Write of %d bytes returned %d", l.conn.conn, len(p), n)
	}
	return n, err
}

// add appends what op has not written yet, until that has most bytes.
func (g *stdGather) add(op *stdOp, most int) {
	switch op.kind {
	case writeBytes:
		g.room = append(g.room, op.out[op.n:])
	case writeBuf:
		g.room = append(g.room, op.single.Slice(op.n, op.total))
	case writeMemory:
		skip := op.n
		for _, p := range op.memory.Buffers {
			if skip >= len(p) {
				skip -= len(p)
				continue
			}
			g.room = append(g.room, p[skip:])
			if most -= len(p) - skip; most <= 0 {
				return
			}
			skip = 0
		}
	}
}

// land accounts for n bytes that were written, and for the error that came with
// them, and lists in landed the operations that have ended, with their errors in
// err. The others stay in flight, or go back into the queue.
func (l *stdLane) land(n int, err error, until time.Time) {
	s, c := l.conn.std, l.conn
	timedOut := false
	if err != nil && (l.poked || !until.IsZero()) && (err == ErrDeadline || isTimeout(err, until)) {
		timedOut, err = true, nil
	}
	if l.poked {
		until = time.Now()
	}
	s.count.BytesWritten += uint64(n)
	s.count.QueuedBytes -= int64(n)
	l.queued -= n
	left := l.flight[:0]
	for _, op := range l.flight {
		m := min(n, op.total-op.n)
		n -= m
		op.n += m
		if op.held == 0 {
			l.keeps(-m)
		}
		switch {
		case op.n == op.total && c.ending == nil:
			op.err = nil
		case op.err != nil:
		case timedOut && !op.deadline.IsZero() && !op.deadline.After(until):
			op.err = ErrDeadline
		case err != nil:
			op.err, err = err, nil
		default:
			left = append(left, op)
			continue
		}
		op.state = opEnded
		l.landed = append(l.landed, op)
	}
	clear(l.flight[len(left):])
	l.flight = left
	if len(left) == 0 {
		l.alone = false
	} else if timedOut && !l.poked {
		l.alone = true
		for i := len(left) - 1; i > 0; i-- {
			l.pushFront(left[i])
			s.hold(left[i])
			left[i] = nil
		}
		l.flight = left[:1]
	}
}
