package aio

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
)

// std is the driver that uses the methods of net.Conn and nothing else, so that
// every connection on every system will do. It does not delegate: the
// connection goes on working, and its read and write deadlines are the
// watcher's to set while something is pending.
//
// Each direction of a connection is a lane: a queue, and a goroutine that
// carries out what is in it and ends when it is empty. An idle connection has
// no goroutine.
//
// Deadlines and contexts end an operation that waits in the queue at once. The
// one that a goroutine is carrying out owns its buffer until the call comes
// back, so that call is interrupted by way of the connection's deadline. On a
// connection that has no deadlines, or is slow to heed them (crypto/tls in the
// handshake), the completion comes when the call returns, and not before. A
// Write on a TLS connection that its deadline cuts short leaves crypto/tls unable
// to write anything more: later writes complete with its error.
//
// Connections are told apart by ==. One with nothing pending is held until the
// next wait and then forgotten, except that those of the types in weakRef are
// remembered weakly: to be closed with the watcher, and to be known as freed.
// Others, once freed, give ErrConnClosed in the completion and not at
// submission, and the watcher's Close leaves them open when they are idle.
//
// Locks: stdLane.setting before mu. No method of a connection and no function
// of the program (mem.Wrap's among them) is called with mu held.
type std struct {
	options Options

	turn sync.Mutex // of whoever is in wait
	lent []stdLoan  // the memory of the results that are out; guarded by turn

	mu    sync.Mutex
	more  sync.Cond // on mu: wait may go on
	state stdState
	conns map[net.Conn]*stdConn
	known knownConns

	done    batches
	swaps   []stdLoan            // the memory of the results in done
	loans   map[uintptr]struct{} // where the memory in lent and swaps ends
	batch   uint64               // the number of the batch that is being filled
	over    uint64               // batches below this one were handed out, and their time is over
	settled []*stdConn           // had nothing pending when last seen

	routines int           // goroutines that hold an operation or close a connection
	writes   int           // writes that are not complete
	cut      bool          // the watcher was closed with writes that were not complete
	drained  chan struct{} // closed when shutdown finds no writes; nil without one
	gone     chan struct{} // closed when routines is 0 in stdClosing
	ended    chan struct{} // closed with stdClosed
	count    Stats
}

type stdState int

const (
	stdOpen     stdState = iota
	stdDraining          // no more submissions and reads; the writes go on
	stdClosing           // everything is being ended
	stdClosed            // what was pending is in done
)

func newStd(o Options) driver {
	s := &std{
		options: o,
		conns:   make(map[net.Conn]*stdConn),
		gone:    make(chan struct{}),
		ended:   make(chan struct{}),
	}
	s.more.L = &s.mu
	return s
}

func (s *std) submit(conn net.Conn, r request) error {
	err := identifiable(conn)
	if err == nil {
		err = s.accept(conn, r)
	} else {
		r.refuse()
	}
	if err != nil && s.options.ErrorsComplete && conn != nil {
		return s.completeRefused(conn, &r, err)
	}
	return err
}

// completeRefused completes what could not be submitted because of err, unless that
// is the watcher's own.
func (s *std) completeRefused(conn net.Conn, r *request, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != stdOpen {
		return ErrWatcherClosed
	}
	*s.done.add() = r.ended(conn, err)
	if r.kind.isWrite() {
		s.count.Writes++
	} else {
		s.count.Reads++
	}
	s.more.Signal()
	return nil
}

// accept is submit for a connection that can be told from others.
func (s *std) accept(conn net.Conn, r request) error {
	op := &stdOp{request: r, out: r.buf}
	if op.kind.isWrite() {
		op.total, op.held = op.length(), op.holds(s.options.Allocator)
		op.compact(s.options.Allocator)
	}
	if ctx := op.cancel; ctx != nil {
		op.unwatch = context.AfterFunc(ctx, func() { s.cancelled(op, context.Cause(ctx)) })
	}
	s.mu.Lock()
	slow, err := s.enqueue(conn, op)
	s.mu.Unlock()
	if err != nil {
		op.letGo()
	}
	if slow {
		go s.closeConn(conn)
	}
	return err
}

// enqueue puts op into its lane. When that fails op has ended. It reports
// whether the connection is to be closed for it; that goroutine is counted then.
func (s *std) enqueue(conn net.Conn, op *stdOp) (slow bool, err error) {
	if s.state != stdOpen {
		op.state = opEnded
		return false, ErrWatcherClosed
	}
	if op.kind == writeBytes && s.isLent(op.out) {
		// It takes longer than until the next wait, perhaps.
		op.out = bytes.Clone(op.out)
	}
	c := s.find(conn)
	if c == nil || c.ending != nil {
		op.state = opEnded
		return false, ErrConnClosed
	}
	l := &c.reads
	if op.kind.isWrite() {
		l = &c.writes
		if limit := s.options.QueueLimit; limit > 0 && l.queued > 0 && op.holding() > limit-l.held {
			op.state = opEnded
			s.count.Refused++
			err = &queueFullError{size: op.total, more: op.holding(), held: l.held, limit: limit}
			if s.options.QueuePolicy == QueueClose {
				s.count.Slow++
				s.end(c, ErrQueueFull)
				s.routines++
				return true, err
			}
			return false, err
		}
		l.queued += op.total
		l.keeps(op.holding())
		s.count.QueuedBytes += int64(op.total)
		s.writes++
	}
	s.count.Pending++
	op.lane = l
	switch {
	case op.err != nil:
		s.routines++
		s.complete(op, op.err)
		s.exit()
		s.settle(c)
	case l.running:
		l.pushBack(op)
		s.hold(op)
	default:
		l.pushBack(op)
		l.running = true
		s.routines++
		go l.run()
	}
	return false, nil
}

func (s *std) wait() ([]OpResult, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent = s.endLoans(s.lent)
	s.done.recycle()
	s.over = s.batch
	s.sweepSettled()
	// While it is being closed everything that was pending is on its way, and
	// is handed out together.
	for s.state == stdClosing || s.state < stdClosing && s.done.len() == 0 {
		s.more.Wait()
	}
	results := s.done.take()
	s.batch++
	s.lent, s.swaps = s.swaps, s.lent
	if s.state == stdClosed {
		return results, ErrWatcherClosed
	}
	return results, nil
}

func (s *std) pin(int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state >= stdClosing {
		return ErrConnClosed
	}
	return fmt.Errorf("%w: the std driver has no thread of its own to pin", ErrUnsupported)
}

// stats counts as connections those that have something pending, and of the
// idle ones those that are remembered: see std.
func (s *std) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.count
	for _, c := range s.conns {
		if c.ending == nil {
			st.Conns++
		}
	}
	for range s.known.idle(s.conns) {
		st.Conns++
	}
	return st
}
