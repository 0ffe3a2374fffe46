package aio

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// Sizes in bytes of the watcher's own memory for a read, of which some is held
// while the read waits.
const (
	// stdLeast is what a quiet connection holds.
	stdLeast = 512
	// stdMostHeld is what a connection that may not be interrupted holds at most,
	// after it has filled that much at once. It is as much as a TLS record has.
	stdMostHeld = 16 << 10
)

// stdIdle is how long a plain socket may keep a reader waiting who holds more than
// stdLeast.
const stdIdle = 50 * time.Millisecond

// noProgress is how many calls in a row may bring nothing, as in bufio.
const noProgress = 100

// errEnded is what carrying out an operation returns that was ended from outside.
var errEnded = errors.New("aio: ended")

// read carries out the first read in the queue. It is called with mu held, which
// it releases meanwhile.
func (l *stdLane) read() {
	s := l.conn.std
	op := l.board()
	s.mu.Unlock()
	var err error
	switch op.kind {
	case readInternal, readBuf:
		err = l.readOwn(op)
	default:
		for err == nil && !op.filled() {
			err = l.receive(op, op.buf[op.n:], op.deadline)
		}
	}
	if err != nil && !op.filled() {
		if isTimeout(err, op.deadline) && !op.deadline.IsZero() {
			err = ErrDeadline
		}
		err = l.closedError(err)
	}
	s.mu.Lock()
	clear(l.flight)
	l.flight = l.flight[:0]
	switch {
	case op.filled() && l.conn.ending == nil:
		// What came with the last bytes, the end of the stream, comes again.
		err = nil
	case op.err != nil:
		err = op.err
	}
	s.complete(op, err)
}

// receive reads into p until something has come.
func (l *stdLane) receive(op *stdOp, p []byte, until time.Time) error {
	for range noProgress {
		if passed(until) {
			return ErrDeadline
		}
		if !l.arm(until) {
			return errEnded
		}
		n, err := l.conn.conn.Read(p)
		op.calls++
		if n < 0 || n > len(p) {
			return fmt.Errorf("aio: %T.Read of %d bytes returned %d", l.conn.conn, len(p), n)
		}
		op.n += n
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// readOwn reads into memory of the watcher. It waits with little of it: a
// connection gets more when it fills what it has, and goes back to little when it
// falls silent, as far as the wait for it can be interrupted.
func (l *stdLane) readOwn(op *stdOp) error {
	limit := l.conn.std.options.BufferSize
	if op.kind == readBuf && op.size > 0 {
		limit = op.size
	}
	for {
		slab, err := l.take(op, min(l.room, limit))
		if err != nil {
			return err
		}
		p := slab.Bytes()
		p = p[:min(len(p), limit)]
		until := op.deadline
		idle := time.Time{}
		if l.stream && len(p) > stdLeast {
			idle = time.Now().Add(stdIdle)
			if until.IsZero() || idle.Before(until) {
				until = idle
			}
		}
		err = l.receive(op, p, until)
		if op.n == 0 {
			slab.Release()
			if until.Equal(idle) && !idle.IsZero() && (err == ErrDeadline || isTimeout(err, until)) {
				l.room = stdLeast
				continue
			}
			return err
		}
		l.resize(op.n, len(p))
		if op.kind == readInternal {
			op.slab = slab
			return nil
		}
		op.block = slab.Cut(0, op.n)
		slab.Release()
		// It is retained for who knows how long, and is alone in its block.
		op.block.Compact()
		return nil
	}
}

// take gets memory for a read of n bytes. A read that is to be retained asks the
// budget, and makes do with little.
func (l *stdLane) take(op *stdOp, n int) (mem.Slab, error) {
	a := l.conn.std.options.Allocator
	if op.kind == readInternal {
		return a.Slab(n), nil
	}
	slab, err := a.TrySlab(n)
	if err != nil && n > stdLeast {
		slab, err = a.TrySlab(stdLeast)
	}
	return slab, err
}

// resize learns from a read of n bytes into size.
func (l *stdLane) resize(n, size int) {
	switch {
	case l.messages:
	case n == size && size >= l.room:
		l.room = min(4*l.room, l.most)
	case n < l.room/4:
		l.room = max(l.room/2, min(stdLeast, l.most))
	}
}
