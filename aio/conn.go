package aio

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// Conn is a connection of a ConnHandler. Write, WriteBuf, WriteMemory, Queued, WhenSent, Close,
// CloseWrite, Do, SyscallConn and the addresses may be used from any goroutine; the rest is for the callbacks
// of connections of the same watcher, and for Do.
type Conn[S any] struct {
	// State is the program's. It is not touched here.
	State S

	loop   *loop[S]
	name   [1]net.Conn
	secure *secure  // nil without TLS
	pace   *Conn[S] // nil: itself
	reason error
	idle   time.Duration
	// The connections of one loop are a list.
	before, after *Conn[S]

	closing atomic.Bool // Close has been called, or the connection has ended; for any goroutine
	halves  atomic.Bool // so has CloseWrite
	phase   phase
	opened  bool // Open has been called
	pending bool // a read or a flush is under way, or postHandshake or memory is awaited
	paused  bool
	calling bool // Open, Data, Buf or Ended is under way
	ended   bool // the peer has ended its side, and Ended wants to go on
	shut    bool // CloseWrite has ended this side
	came    bool // bytes have come
}

// phase is how far a connection is.
type phase uint8

const (
	serves    phase = iota
	finishing       // what was written goes out, then it is closed
	gone
)

// loop is the connections that one watcher has of a ConnHandler, for the goroutine of
// the callbacks.
type loop[S any] struct {
	watcher *Watcher
	calls   *callbacks[S]
	first   *Conn[S]
	plain   []byte      // what TLS has decrypted
	starved starved[S]  // the budget had nothing for their reads
	ending  atomic.Bool // notifyEnd has begun; for any goroutine

	handshakes sync.WaitGroup // that run
}

// callbacks are those of a ConnHandler, and its limits.
type callbacks[S any] struct {
	open    func(*Conn[S]) error
	data    func(*Conn[S], []byte) error
	buf     func(*Conn[S], mem.Buf) error
	ended   func(*Conn[S]) error
	closed  func(*Conn[S], error)
	refused func(net.Addr, error)

	idle, write, handshake time.Duration
}

// The contexts of operations and of results without one, beside *Conn[S] itself, of
// which these are other names.
type (
	flushed[S any] Conn[S] // what the pace had waiting is written
	drained[S any] Conn[S] // everything is written, the end of the connection too
	halved[S any]  Conn[S] // CloseWrite
	over[S any]    Conn[S] // both sides have ended, and everything is written
	closing[S any] Conn[S] // Close, or the reason in Error
	woken[S any]   Conn[S] // the handshake is over, or wants more
)

// sent is the context of a WhenSent.
type sent[S any] struct {
	conn *Conn[S]
	f    func()
}

// newConn returns a connection that has just come to l.
func newConn[S any](l *loop[S], conn net.Conn) *Conn[S] {
	c := &Conn[S]{loop: l, name: [1]net.Conn{conn}, idle: l.calls.idle, after: l.first}
	if l.first != nil {
		l.first.before = c
	}
	l.first = c
	return c
}

// leave takes c out of the list.
func (l *loop[S]) leave(c *Conn[S]) {
	if c.before != nil {
		c.before.after = c.after
	} else {
		l.first = c.after
	}
	if c.after != nil {
		c.after.before = c.before
	}
	c.before, c.after = nil, nil
}

// notifyEnd sends the end of TLS on all connections that have it. Reads and writes go on.
func (l *loop[S]) notifyEnd() {
	l.ending.Store(true)
	for c := l.first; c != nil; c = c.after {
		if c.secure != nil && c.opened && c.phase == serves {
			_ = c.secure.session.CloseWrite()
		}
	}
}

// endAborted closes the connections whose callback did not return: it has ended its goroutine.
func (l *loop[S]) endAborted() {
	for c := l.first; c != nil; {
		if !c.calling {
			c = c.after
			continue
		}
		c.calling = false
		c.finish(op.ErrGoexit)
		c = l.first // finish may have called Closed, which may do much
	}
}

// end ends what is left: connections for which no operation was pending. It waits for the
// handshakes of those that have ended, which have memory, and the program's tls.Config.
func (l *loop[S]) end() {
	l.starved.end()
	for l.first != nil {
		l.first.end(ErrWatcherClosed)
	}
	l.handshakes.Wait()
}

// submit submits a write. What fails completes with c.
func (c *Conn[S]) submit(r op.Request) error {
	r.Ctx = c
	return c.loop.watcher.driver.Submit(c.name[0], r)
}

// held is how much memory the queued writes hold, in bytes.
func (c *Conn[S]) held() int { return c.loop.watcher.driver.Held(c.name[0]) }

// fail posts the close of the connection: at once because of err, or as Close does when
// err is nil.
func (c *Conn[S]) fail(err error) error {
	return c.loop.watcher.driver.Post((*closing[S])(c), nil, err)
}

// open calls Open.
func (c *Conn[S]) open() {
	c.opened = true
	if c.loop.calls.open == nil {
		return
	}
	c.calling = true
	err := c.loop.calls.open(c)
	c.calling = false
	if err != nil {
		c.finish(err)
	}
}

// proceed submits the next operation: a read or, while writes are queued, a wait for
// their end.
func (c *Conn[S]) proceed() { c.proceedIn(mem.Slab{}) }

// proceedIn is proceed with memory for the read, transferred, or the zero Slab.
func (c *Conn[S]) proceedIn(room mem.Slab) {
	own, err := c.submitNext(room)
	if err == nil {
		return
	}
	if own && errors.Is(err, ErrConnClosed) {
		// The watcher closes a connection that is served by itself for one reason. There
		// was no operation to complete with it.
		err = ErrQueueFull
	}
	c.end(err)
}

// submitNext submits what proceedIn does, if anything. own says that it was on c itself.
func (c *Conn[S]) submitNext(room mem.Slab) (own bool, err error) {
	r := op.Request{Kind: op.ReadLeased, Ctx: c}
	if c.secure == nil && c.loop.calls.buf != nil {
		r.Kind, r.Room = op.ReadCounted, room
	}
	if c.pending || c.paused || c.ended || c.phase != serves {
		r.Release()
		return true, nil
	}
	pace := c
	if c.pace != nil && c.pace.phase == serves {
		pace = c.pace
	}
	if pace.held() > 0 {
		r.Release()
		err = c.loop.watcher.driver.Submit(pace.name[0], op.Request{
			Kind: op.Flush, Ctx: (*flushed[S])(c), Deadline: timeLimit(c.loop.calls.write),
		})
	} else {
		r.Deadline = timeLimit(c.idle)
		if s := c.secure; s != nil {
			if s.early = !c.opened && (r.Deadline.IsZero() || s.until.Before(r.Deadline)); s.early {
				r.Deadline = s.until
			}
		}
		err = c.loop.watcher.driver.Submit(c.name[0], r)
	}
	c.pending = err == nil
	return pace == c, err
}

// read handles the completion of a read.
func (c *Conn[S]) read(r *OpResult) {
	c.pending = false
	if c.phase != serves || c.ended { // over TLS a read may be under way when the peer ends
		if r.Buf.Valid() {
			r.Buf.Release()
		}
		return
	}
	c.came = c.came || r.Size > 0
	var err error
	short := false // TLS has kept more than the budget has
	switch {
	case r.Size == 0:
	case c.secure != nil:
		short, err = c.secure.received(r.Buffer)
		c.pending = c.pending || c.secure.full // until it is woken
	case c.loop.calls.buf != nil:
		err = c.plainBuf(r.Buf) //sluice:moved
	default:
		err = c.plain(r.Buffer)
	}
	short = short && r.Error == nil || errors.Is(r.Error, mem.ErrBudget) && c.secure == nil && c.loop.calls.buf != nil
	if err == nil && short && c.phase == serves {
		c.loop.starve(c)
		return
	}
	if err == nil && r.Error != nil {
		if err = r.Error; c.secure != nil {
			var wait bool
			err, wait = c.secure.ended(err)
			c.pending = c.pending || wait
		} else if err == io.EOF {
			err = errStreamEnd
		}
	}
	switch {
	case err == nil:
		if c.pending { // no read goes on, whose deadline would be the handshake's
			c.limitHandshake()
		}
		c.proceed()
	case err == ErrDeadline && r.Error == err:
		c.stop(c.silent())
	case err == r.Error && err != io.EOF:
		c.end(err)
	default:
		c.stop(err)
	}
}

// stop finishes because of err, unless it is errStreamEnd and Ended wants to go on.
func (c *Conn[S]) stop(err error) {
	if err == errStreamEnd {
		err = io.EOF
		if c.loop.calls.ended != nil {
			c.ended, c.calling = true, true
			err = c.loop.calls.ended(c)
			if c.calling = false; err == nil {
				c.endBoth()
				return
			}
		}
	}
	c.finish(err)
}

// endBoth closes the connection when both sides have ended and everything is written: it
// serves nothing then, and would keep its descriptor. It is not as in Close, since a slow
// peer may take longer for the rest than that waits.
func (c *Conn[S]) endBoth() {
	if !c.ended || !c.shut || c.phase != serves {
		return
	}
	if err := c.loop.watcher.driver.Submit(c.name[0], op.Request{
		Kind: op.Flush, Ctx: (*over[S])(c), Deadline: timeLimit(c.loop.calls.write),
	}); err != nil {
		c.end(err)
	}
}

// flushed goes on when the writes of the connection on are out, which paces c or did
// when the wait began.
func (c *Conn[S]) flushed(on net.Conn, err error) {
	c.pending = false
	if c.phase != serves { // finishing: drained ends c
		return
	}
	switch {
	case err == nil:
	case on == c.name[0]:
		c.end(c.unsent(err))
	case c.pace != nil && on == c.pace.name[0]:
		c.pace.end(c.pace.unsent(err))
	}
	c.proceed()
}

// decrypted hands on what TLS has kept. It returns false when the connection has ended.
func (c *Conn[S]) decrypted() bool {
	if c.phase != serves || !c.opened || c.paused || c.ended {
		return true
	}
	if err := c.secure.deliver(mostPlain); err != nil {
		c.stop(err)
		return false
	}
	return true
}

// handshake checks the state of the handshake, when it is over or needs more bytes.
func (c *Conn[S]) handshake() {
	s := c.secure
	if c.phase != serves || c.opened {
		return
	}
	over, err := s.session.Handshake()
	if err != nil {
		c.finish(err)
		return
	}
	c.loop.starved.leave(c) // it has a place now, for which others wait that may have all memory
	if over {
		c.open()
		if !c.decrypted() {
			return
		}
	}
	if s.full {
		s.full, c.pending = false, false
	}
	c.proceed()
}

// finish closes the connection because of reason when what was written is out.
func (c *Conn[S]) finish(reason error) {
	if c.phase != serves {
		return
	}
	c.loop.starved.leave(c)
	if c.secure != nil {
		_ = c.secure.session.CloseWrite()
	}
	c.reason = reason
	if c.held() == 0 {
		c.end(reason)
		return
	}
	c.phase = finishing
	limit := c.loop.calls.write
	if limit == 0 {
		limit = DefaultGrace
	}
	if err := c.loop.watcher.driver.Submit(c.name[0], op.Request{
		// Not only a Flush: other goroutines may go on to write, and that is not for the peer.
		Kind: op.EndWrites, Ctx: (*drained[S])(c), Deadline: timeLimit(limit),
	}); err != nil {
		c.endFreeing(reason, !errors.Is(err, ErrWatcherClosed))
	}
}

// broken closes the connection after a write has failed with err.
func (c *Conn[S]) broken(err error) {
	if c.phase == finishing {
		err = c.reason
	}
	c.end(err)
}

// end closes the connection because of reason. At the end of the server the watcher closes
// it when what is queued is out.
func (c *Conn[S]) end(reason error) {
	c.endFreeing(reason, !errors.Is(reason, ErrWatcherClosed) || c.held() == 0)
}

// endFreeing is end; frees says that what is queued is thrown away.
func (c *Conn[S]) endFreeing(reason error, frees bool) {
	if c.phase == gone {
		return
	}
	c.phase = gone
	c.closing.Store(true) // or what Closed writes would go out before Free
	c.loop.leave(c)
	c.loop.starved.leave(c)
	defer c.release(frees) // also when the callback ends its goroutine
	calls := c.loop.calls
	if c.opened && calls.closed != nil {
		calls.closed(c, reason)
	} else if !c.opened && calls.refused != nil {
		calls.refused(c.name[0].RemoteAddr(), c.refusal(reason))
	}
}

// release gives back what c has, at its end.
func (c *Conn[S]) release(frees bool) {
	if c.secure != nil {
		c.secure.release()
	}
	if frees {
		_ = c.loop.watcher.Free(c.name[0])
	}
}

// refusal returns why the handshake failed when c ends because of reason: at the end of the server that
// may be known and not have been looked at.
func (c *Conn[S]) refusal(reason error) error {
	if c.secure != nil && errors.Is(reason, ErrWatcherClosed) {
		if _, err := c.secure.session.Handshake(); err != nil {
			return err
		}
	}
	return reason
}

// timeLimit returns now plus limit, or the zero time when limit is 0.
func timeLimit(limit time.Duration) time.Time {
	if limit == 0 {
		return time.Time{}
	}
	return time.Now().Add(limit)
}

// The methods of plainSide.

func (c *Conn[S]) postHandshake() {
	_ = c.loop.watcher.driver.Post((*woken[S])(c), nil, nil)
}

func (c *Conn[S]) writeFailed(err error) error {
	if c.loop.ending.Load() {
		return ErrWatcherClosed // which ends c
	}
	_ = c.fail(err)
	return err
}

func (c *Conn[S]) isOpen() bool    { return c.opened }
func (c *Conn[S]) isPaused() bool  { return c.paused }
func (c *Conn[S]) serving() bool   { return c.phase == serves }
func (c *Conn[S]) keepsBufs() bool { return c.loop.calls.buf != nil }

func (c *Conn[S]) plain(p []byte) error {
	c.calling = true
	err := c.loop.calls.data(c, p)
	c.calling = false
	return err
}

func (c *Conn[S]) plainBuf(b mem.Buf) error {
	c.calling = true
	err := c.loop.calls.buf(c, b) //sluice:moved
	c.calling = false
	return err
}

func (c *Conn[S]) room() []byte {
	if c.loop.plain == nil {
		c.loop.plain = make([]byte, mostPlain)
	}
	return c.loop.plain
}
