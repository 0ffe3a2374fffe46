//go:build unix && !aix && !solaris && !illumos

package aio

import (
	"context"
	"io"
	"net"
	"sync"
	"weak"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/mem"
)

// readyBits say what a descriptor is ready for.
type readyBits uint8

const (
	canRead readyBits = 1 << iota
	canWrite
	// unsure: a short read proves nothing, and no further edge need come. The peer
	// has sent its last byte, the connection is broken, or there is urgent data,
	// at which a read stops short.
	unsure
	// taking: the program's connection is not closed yet. Until it is, whoever
	// finds nothing in the table would take it over again.
	taking
)

// conn is a delegated connection. There is one for each idle connection, so its
// size counts.
type conn struct {
	mu sync.Mutex

	// name is the program's connection while an operation is pending, and nil
	// else: what is held cannot be forgotten. One that is not a pointer is always
	// held.
	name net.Conn
	key  uintptr            // its address, or 0
	self weak.Pointer[byte] // the same, for telling a new connection at an old address

	fd          int32
	gen         uint32
	ready       readyBits
	socket      bool
	stream      bool // a short read has emptied it
	datagram    bool // reading nothing is not the end
	closed      bool
	watchWrites bool  // the poller has been asked for canWrite
	inReady     bool  // on a readyList of p; guarded by p.mu
	refused     bool  // the budget refused its last read
	firstUsed   bool  // first is in a queue
	pending     int32 // operations in both queues

	reads     opQueue
	writes    opQueue
	held      int // memory of what is in writes, as QueueLimit counts it
	nextReady *conn
	first     op // for one operation without an allocation: most have one read pending
}

// op is an operation that waits in a queue.
type op struct {
	next *op
	ctx  any
	buf  []byte // to read into, or to write
	done int    // bytes so far
	size int    // readBuf: at most; writes: in all
	when int64  // deadline, in nanoseconds since start; 0 none
	heap int32  // place in the timers, or noTimer
	seq  uint32 // changes each time that the op is used again
	kind opKind
	// quiet: a write that completes only when it fails.
	quiet bool
	more  *opMore
}

// opMore is what few operations need.
type opMore struct {
	single mem.Buf // what is written; or what writeBytes writes from, if it was lent
	memory *mem.Memory
	held   int         // memory of single or memory
	stop   func() bool // unregisters from the context
}

var (
	spareOps   = sync.Pool{New: func() any { return new(op) }}
	spareMores = sync.Pool{New: func() any { return new(opMore) }}
)

// newOp returns an op for r. The caller puts it into a queue.
func (c *conn) newOp(r *request) *op {
	o := &c.first
	if c.firstUsed {
		o = spareOps.Get().(*op)
	}
	c.firstUsed = true
	o.kind, o.ctx, o.buf, o.size, o.heap, o.quiet = r.kind, r.ctx, r.buf, r.size, noTimer, r.quiet
	c.pending++
	return o
}

// holds is how much memory a write has as long as it waits, as QueueLimit counts it.
func (o *op) holds() int {
	if o.more != nil && o.more.held > 0 {
		return o.more.held
	}
	return o.size - o.done
}

// freeOp takes back an op that is in no queue.
func (c *conn) freeOp(o *op) {
	if m := o.more; m != nil {
		if m.stop != nil {
			m.stop()
		}
		*m = opMore{}
		spareMores.Put(m)
	}
	*o = op{seq: o.seq + 1}
	if o == &c.first {
		c.firstUsed = false
	} else {
		spareOps.Put(o)
	}
	c.pending--
	if c.pending == 0 && c.key != 0 {
		c.name = nil
	}
}

// note takes down what the poller said.
func (c *conn) note(what readyBits) { c.ready |= what }

// drained says whether a read of n bytes into so much room has emptied the
// socket. A read that does not fill its room has, on a stream, and need not be
// followed by another that says so.
func (c *conn) drained(n, room int) bool {
	return n < room && c.stream && c.ready&unsure == 0
}

// progressReads carries out reads for as long as the socket has something.
// inWait says that the caller is in wait; others leave reads without a buffer to
// it, whose memory it is. It says whether the memory of this round was used up
// before the reads were. Called with c.mu.
func (p *readiness) progressReads(c *conn, inWait bool) (more bool) {
	for c.ready&canRead != 0 && c.reads.tail != nil {
		o := c.reads.head()
		room := o.buf[o.done:]
		if o.kind == readInternal || o.kind == readBuf {
			if !inWait {
				p.leaveToWait(c, false)
				return false
			}
			least := smallRoom
			if !c.stream {
				least = p.options.BufferSize // what is left of a message would be thrown away
			}
			var err error
			if o.kind == readInternal {
				room = p.loan.room(least)
			} else {
				room, err = p.counted.room(o.size, least)
				c.refused = err != nil
			}
			if err != nil {
				p.completeRead(c, o, result{err: err})
				continue
			}
			if room == nil {
				return true
			}
		}
		p.readCalls.Add(1)
		n, err := c.read(room)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			c.ready &^= canRead
			return false
		case err != nil:
			p.completeRead(c, o, result{err: err})
			continue
		case n == 0 && !c.datagram:
			p.completeRead(c, o, result{err: io.EOF})
			continue
		}
		if c.drained(n, len(room)) {
			c.ready &^= canRead
		}
		o.done += n
		switch o.kind {
		case readInternal:
			p.completeRead(c, o, result{buffer: p.loan.keep(n), internal: true})
		case readBuf:
			if n == 0 { // an empty datagram: there is nothing to be released
				p.completeRead(c, o, result{})
				continue
			}
			b := p.counted.keep(n)
			p.completeRead(c, o, result{buffer: b.Bytes(), counted: b}) //sluice:moved
		case readSome:
			p.completeRead(c, o, result{})
		case readFull:
			if o.done == len(o.buf) {
				p.completeRead(c, o, result{})
			}
		}
	}
	return false
}

// result is how an operation ended, as far as the op does not say it.
type result struct {
	err      error
	buffer   []byte // in place of op.buf
	internal bool
	counted  mem.Buf
}

// completeRead ends the read o of c, which is in its queue. Called with c.mu.
func (p *readiness) completeRead(c *conn, o *op, r result) {
	c.reads.remove(o)
	p.mu.Lock()
	p.untime(o)
	res := p.completed.add()
	res.Operation = OpRead
	res.Context, res.Conn = o.ctx, c.name
	res.Buffer = o.buf
	if r.buffer != nil {
		res.Buffer = r.buffer
	}
	res.IsSwapBuffer = r.internal
	res.Size = o.done
	res.Error = r.err
	res.Buf = r.counted //sluice:moved
	p.counters.Reads++
	p.counters.BytesRead += uint64(o.done)
	p.wakeUnlessClosing()
	p.mu.Unlock()
	c.freeOp(o)
}

// completeWrite ends the write o of c, which is in its queue. Called with c.mu.
func (p *readiness) completeWrite(c *conn, o *op, err error) {
	c.writes.remove(o)
	c.held -= o.holds()
	p.mu.Lock()
	p.untime(o)
	if o.quiet && err == nil {
		p.countWrite(o.done)
	} else {
		p.addWrite(c.name, o.ctx, o.buf, o.done, err)
	}
	p.writes--
	if p.writes == 0 && p.drained != nil && !p.closed {
		close(p.drained)
		p.drained = nil
	}
	p.mu.Unlock()
	p.releaseTransferred(o)
	c.freeOp(o)
}

// addWrite adds a completed write. Called with p.mu.
func (p *readiness) addWrite(name net.Conn, ctx any, buf []byte, n int, err error) {
	res := p.completed.add()
	res.Operation = OpWrite
	res.Context, res.Conn = ctx, name
	res.Buffer = buf
	res.Size = n
	res.Error = err
	p.countWrite(n)
	p.wakeUnlessClosing()
}

// countWrite counts a write of n bytes that has ended. Called with p.mu.
func (p *readiness) countWrite(n int) {
	p.counters.Writes++
	p.counters.BytesWritten += uint64(n)
}

// wakeUnlessClosing lets wait hand out what completes, except that close hands
// out all of it together.
func (p *readiness) wakeUnlessClosing() {
	if !p.closed {
		p.wake()
	}
}

func (p *readiness) releaseTransferred(o *op) {
	switch {
	case o.more == nil:
	case o.more.memory != nil:
		o.more.memory.Release()
		o.more.memory = nil
	case !o.more.single.Valid():
	case o.kind == writeBytes:
		p.loan.letGo(o.more.single)
		o.more.single = mem.Buf{}
	default:
		o.more.single.Release()
	}
}

// end ends an operation before its time. It does nothing when o is not in a
// queue of c any more, or has become another operation: seq tells.
func (p *readiness) end(c *conn, o *op, seq uint32, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.reads.has(o) && o.seq == seq:
		p.completeRead(c, o, result{err: err})
	case c.writes.has(o) && o.seq == seq:
		p.completeWrite(c, o, err)
	}
}

// attend ends o when ctx is done. Called with c.mu.
func (p *readiness) attend(c *conn, o *op, ctx context.Context) {
	seq := o.seq
	stop := context.AfterFunc(ctx, func() { p.end(c, o, seq, context.Cause(ctx)) })
	if o.more == nil {
		o.more = spareMores.Get().(*opMore)
	}
	o.more.stop = stop
}
