package aio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// stdOp is an operation from its submission to its completion. It is not used
// again afterwards, so a timer that comes late finds one that has ended.
type stdOp struct {
	request
	lane       *stdLane
	prev, next *stdOp // in the lane's queue

	state   stdOpState
	err     error       // why it is to end early, set from outside
	timer   *time.Timer // its deadline, while it is queued
	unwatch func() bool // stops the context from being watched

	out   []byte   // writeBytes: what is written, buf or a copy of it
	n     int      // bytes read or written
	total int      // bytes to be written
	held  int      // memory of what was transferred, as QueueLimit counts it
	calls int      // of conn.Read, not yet counted
	slab  mem.Slab // what readInternal has read
	block mem.Buf  // what readBuf has read
}

type stdOpState int

const (
	opNew    stdOpState = iota // being submitted
	opQueued                   // in the lane's queue
	opFlying                   // being carried out: the goroutine of the lane has the buffer
	opEnded
)

// holding is how much memory a write has as long as it waits, as QueueLimit counts it.
func (op *stdOp) holding() int {
	if op.held > 0 {
		return op.held
	}
	return op.total - op.n
}

// filled says that a read needs no more bytes.
func (op *stdOp) filled() bool {
	if op.kind == readFull {
		return op.n == len(op.buf)
	}
	return op.n > 0
}

// letGo ends what the operation has outside the watcher. It runs functions of the
// program: mu is not held.
func (op *stdOp) letGo() {
	if op.unwatch != nil {
		op.unwatch()
	}
	op.refuse()
}

// complete hands op back with err. The caller has taken it from where it was,
// and holds mu, which is released for a while if there is something to let go.
func (s *std) complete(op *stdOp, err error) {
	op.state = opEnded
	s.unhold(op)
	if op.unwatch != nil || op.kind == writeBuf || op.kind == writeMemory {
		s.mu.Unlock()
		op.letGo()
		s.mu.Lock()
	}
	l, c := op.lane, op.lane.conn
	var r *OpResult
	if !op.quiet || err != nil {
		r = s.done.add()
		*r = OpResult{Context: op.ctx, Conn: c.conn, Buffer: op.buf, Size: op.n, Error: err}
	}
	if op.kind.isWrite() {
		if r != nil {
			r.Operation = OpWrite
		}
		s.count.Writes++
		s.writes--
		l.queued -= op.total - op.n
		l.keeps(-op.holding())
		s.count.QueuedBytes -= int64(op.total - op.n)
	} else {
		s.count.Reads++
		s.count.ReadCalls += uint64(op.calls)
		s.count.BytesRead += uint64(op.n)
		r.IsSwapBuffer = op.kind == readInternal
		s.handOver(op, r)
	}
	// A timer that was stopped may stay in the runtime's heap, and op with it,
	// until its time has come. What belongs to the program must not.
	op.request = request{kind: op.kind}
	op.out = nil
	s.count.Pending--
	c.last = s.batch
	s.checkDrained()
	s.more.Signal()
}

// handOver puts the memory that op has read into, if it was the watcher's, into r.
func (s *std) handOver(op *stdOp, r *OpResult) {
	if op.block.Valid() {
		r.Buf = op.block //sluice:moved
		op.block = mem.Buf{}
		r.Buffer = r.Buf.Bytes()
	}
	if !op.slab.Valid() {
		return
	}
	r.Buffer = op.slab.Bytes()[:op.n:op.n]
	if s.state >= stdClosing {
		// There need not be a next wait that would release it.
		r.Buffer = bytes.Clone(r.Buffer)
		op.slab.Release()
		return
	}
	s.lend(op.slab, r.Buffer)
}

// ownSwaps is what handOver does in stdClosing, for the results that came before.
func (s *std) ownSwaps() {
	if s.done.filling == nil {
		return
	}
	for i := range s.done.filling.results {
		if r := &s.done.filling.results[i]; r.IsSwapBuffer {
			r.Buffer = bytes.Clone(r.Buffer)
		}
	}
	s.swaps = s.endLoans(s.swaps)
}

// hold has op end at its deadline while it waits in the queue.
func (s *std) hold(op *stdOp) {
	if !op.deadline.IsZero() {
		op.timer = time.AfterFunc(time.Until(op.deadline), func() { s.expired(op) })
	}
}

func (s *std) unhold(op *stdOp) {
	if op.timer != nil {
		op.timer.Stop()
		op.timer = nil
	}
}

// expired ends an operation whose deadline came while it was queued. One that is
// being carried out has its deadline set on the connection.
func (s *std) expired(op *stdOp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op.state != opQueued {
		return
	}
	now := time.Now()
	if now.Before(op.deadline) {
		// The wall clock was set; the timer counts.
		now = op.deadline
	}
	s.routines++
	op.lane.dropExpired(now)
	s.exit()
}

// cancelled ends an operation whose context is done, with the cause.
func (s *std) cancelled(op *stdOp, err error) {
	s.mu.Lock()
	switch op.state {
	case opNew, opFlying:
		if op.err == nil {
			op.err = err
		}
	case opQueued:
		s.routines++
		op.lane.remove(op)
		s.complete(op, err)
		s.exit()
	}
	flying := op.state == opFlying
	s.mu.Unlock()
	if flying {
		op.lane.poke(op)
	}
}

// isTimeout says that err is the end of a deadline that was set for until. An
// error that is not the usual one counts only when that time has come: the
// kernel, and connections that are more than a socket, have timeouts of their own.
func isTimeout(err error, until time.Time) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	var t net.Error
	return errors.As(err, &t) && t.Timeout() && !until.IsZero() && !time.Now().Before(until)
}

// closedError turns the error of a connection that the program has closed into
// ErrConnClosed, and leaves others as they are.
func (l *stdLane) closedError(err error) error {
	switch {
	case errors.Is(err, net.ErrClosed):
		return ErrConnClosed
	case errors.Is(err, io.ErrClosedPipe) && (!l.sends || closedPipeHere(l.conn.conn)):
		return ErrConnClosed
	}
	return err
}

var pipeType = sync.OnceValue(func() reflect.Type {
	c, _ := net.Pipe()
	return reflect.TypeOf(c)
})

// closedPipeHere tells which end of a net.Pipe is closed, one of them being: its
// Write says the same of both. Read does not wait then, and says io.EOF of the other.
func closedPipeHere(conn net.Conn) bool {
	if reflect.TypeOf(conn) != pipeType() {
		return false
	}
	_, err := conn.Read(nil)
	return err == io.ErrClosedPipe
}
