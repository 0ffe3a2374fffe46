package tlsfed

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// Output is where the records go that crypto/tls writes. Its methods do not wait for
// the peer, and are called one at a time for a session, by any goroutine.
type Output interface {
	// WriteRecords sends p, borrowed until it returns; with beyond also where a limit of
	// what waits would refuse it.
	WriteRecords(p []byte, beyond bool) error
	// WriteRecordBuf is WriteRecords of b, transferred, also when it fails.
	WriteRecordBuf(b mem.Buf, beyond bool) error
	// Empty says that nothing waits to be sent.
	Empty() bool
	// Wake has Handshake called soon, in the goroutine that feeds the session.
	Wake()
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
}

// Session is one connection. Record, Handshake, End, Read and Close are for one
// goroutine, the feeding one; Write may be called from any, once the handshake is over.
type Session struct {
	conn       *tls.Conn
	out        Output
	memory     *mem.Allocator
	handshakes *Handshakes
	running    *sync.WaitGroup // a handshake, while it is neither over nor left

	// For the feeding goroutine; but for over, once open.
	open  bool
	now   []byte // of the record in hand, what crypto/tls has not read yet
	ended error  // why nothing comes any more, after what is there
	over  bool   // see Over
	// drained: crypto/tls has said once that it has no whole record of its own. A Read
	// that is not full has the end of the one in hand then.
	drained bool
	shut    atomic.Bool // CloseWrite has been called

	mu      sync.Mutex // guards what follows
	opening *opening   // nil when the session is open and nothing is kept
	batch   batch
}

// opening is what only a session needs that is not open yet, or that keeps something.
type opening struct {
	early   backlog // records that have come and are not read
	arrived sync.Cond
	ended   error // why no more come
	started bool
	running bool // it has a place
	left    bool // it was closed before it had one
	waits   bool // MayWait has said so
	idle    int  // what noteIdle knows of early, in bytes
	full    bool // Record has said so, and Wake has not been called since
	over    bool // err is the handshake's result
	err     error
	cancel  context.CancelFunc
}

// New returns a session of a connection that has just been accepted. config is used as
// tls.Server does. What uses out, memory or config on another goroutine is counted by running: after
// Close it is over soon.
func New(config *tls.Config, out Output, memory *mem.Allocator, handshakes *Handshakes, running *sync.WaitGroup) *Session {
	s := &Session{out: out, memory: memory, handshakes: handshakes, running: running, opening: new(opening)}
	s.opening.arrived.L = &s.mu
	s.conn = tls.Server((*wire)(s), config)
	return s
}

// mostEarly is how many bytes a session keeps that is not open yet: as much as one
// reading of a loop brings. Two records are always taken.
const mostEarly = 64 << 10

// Record takes a record, borrowed: until it returns when the session is not open,
// else until Read returns ErrNoBytes. The first one starts the handshake. It returns
// false when no more records are to be read before Output.Wake. The error is
// mem.ErrBudget, for a record that is longer than the whole budget.
func (s *Session) Record(p []byte) (more bool, err error) {
	if s.open {
		s.now = p
		return true, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opening
	over, err := o.early.add(s.memory, p)
	if err != nil {
		return false, err
	}
	s.over = s.over || over
	o.arrived.Signal()
	if !o.started {
		o.started = true
		s.running.Add(1)
		s.handshakes.start(s)
	}
	s.noteIdle()
	o.full = !o.over && (o.full || o.early.len() > mostEarly)
	return !o.full, nil
}

// Keep is Record for a session that is open and is not to be read from now: p is
// borrowed until Keep returns. Read comes to it first. The error is that of Record.
func (s *Session) Keep(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening == nil {
		s.opening = new(opening)
	}
	s.drained = false
	over, err := s.opening.early.add(s.memory, p)
	s.over = s.over || over
	return err
}

// Over reports whether a record was kept beyond the budget since the last call. Then no more
// should be read until there is memory. It is for the feeding goroutine.
func (s *Session) Over() bool {
	over := s.over
	s.over = false
	return over
}

// MayWait reports whether its connection may wait for memory before more is read. One whose
// handshake runs may not: others, which may have all the memory, wait for its place. When one that
// may is given a place, Wake is called. It is for the feeding goroutine.
func (s *Session) MayWait() bool {
	if s.open {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opening
	o.waits = !o.running || o.over
	return o.waits
}

// noteIdle tells the budget what the session holds that waits for a place: it does not come back
// before others, whose peers may be silent, have done, and who waits for memory must not wait for
// that. Called with mu, before the session is open.
func (s *Session) noteIdle() {
	o := s.opening
	held := 0
	if !o.running && !s.open && o.early.room.Valid() {
		held = o.early.room.Len()
	}
	if held != o.idle {
		noteIdle(s.memory, held-o.idle)
		o.idle = held
	}
}

// KeepRest is Keep for what Read has left of the record in hand.
func (s *Session) KeepRest() error {
	rest := s.now
	if s.now = nil; len(rest) == 0 {
		return nil
	}
	return s.Keep(rest)
}

// Handshake says whether the handshake is over, and why it failed. The session is
// open when it has not: then something may be there to be read.
func (s *Session) Handshake() (over bool, err error) {
	if s.open {
		return true, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opening
	if !o.over || o.err != nil {
		return o.over, o.err
	}
	s.open, s.ended = true, o.ended
	if o.early.len() == 0 {
		s.opening = nil
	}
	return true, nil
}

// handshake is the work of a goroutine of Handshakes. A callback of config may end that.
func (s *Session) handshake() {
	s.mu.Lock()
	o := s.opening
	if o.left {
		s.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.cancel = cancel
	if o.running = true; o.waits && !o.full { // a full one wakes when it has used that up
		s.out.Wake()
	}
	s.noteIdle()
	err := o.ended
	s.mu.Unlock()
	if err == nil || err == io.EOF { // what came before the end may be answered by an alert
		err = s.conn.HandshakeContext(ctx)
		if err != nil {
			// Its own error, also where the context was done just before it returned.
			err = cmp.Or(s.conn.Handshake(), err)
		}
	}
	s.shaken(err)
}

// shaken notes the result of the handshake.
func (s *Session) shaken(err error) {
	s.mu.Lock()
	o := s.opening
	if why := o.ended; why != nil && why != io.EOF && (errors.Is(err, why) || errors.Is(err, context.Canceled)) {
		err = why // the reason, not what followed from it
	}
	o.over, o.err, o.cancel = true, err, nil
	if o.ended == net.ErrClosed {
		o.early.release()
	}
	s.mu.Unlock()
	s.out.Wake()
	s.running.Done()
}

// End says that nothing comes any more, because of err: io.EOF when the peer has
// ended. A handshake under way fails then, and its context is done. Call Handshake or
// Read next.
func (s *Session) End(err error) {
	if s.open {
		s.ended = err
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opening
	if o.ended != nil && (o.ended != io.EOF || err == io.EOF) {
		return // the first reason counts; the end of the stream is none to give up
	}
	o.ended = err
	o.arrived.Signal()
	if o.cancel != nil && err != io.EOF {
		o.cancel()
	}
	if !o.started {
		o.over, o.err = true, err
	}
}

// Read reads what the peer has said into p, until p is full. An error may come with
// bytes: ErrNoBytes when the records are used up, io.EOF after the peer's close_notify.
func (s *Session) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = s.conn.Read(p[n:])
		n += k
		if err == nil && n < len(p) && len(s.now) == 0 && s.opening == nil && s.ended == nil && s.drained {
			err = ErrNoBytes // which crypto/tls would find out at a price
		}
	}
	s.drained = s.drained || err == ErrNoBytes
	return n, err
}

// oneRecord is the most bytes that always fit into one record, however careful
// crypto/tls is with the first ones of a connection: it fills packets of 1,208 bytes.
const oneRecord = 1 << 10

// Write sends p, borrowed, as records. Those of a longer p go out together. After
// CloseWrite the error is op.ErrConnClosed.
func (s *Session) Write(p []byte) (n int, err error) {
	if n, err = s.write(p); err != nil && s.shut.Load() && !errors.Is(err, op.ErrQueueFull) {
		err = op.ErrConnClosed
	}
	return n, err
}

func (s *Session) write(p []byte) (n int, err error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case len(p) <= oneRecord:
		return s.conn.Write(p)
	}
	s.mu.Lock()
	s.batch.begin(s.out, len(p))
	s.mu.Unlock()
	n, err = s.conn.Write(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if endErr := s.batch.end(s.out); err == nil {
		err = endErr
	}
	return n, err
}

// CloseWrite sends close_notify, behind all that Write has reported as written. It does
// nothing on a session that is not open.
func (s *Session) CloseWrite() error {
	if !s.open {
		return nil
	}
	s.shut.Store(true)
	err := s.conn.CloseWrite()
	s.mu.Lock()
	defer s.mu.Unlock()
	// A Write that has not ended yet may come too late: the connection may be closed next.
	if s.batch.room.Valid() {
		if flushErr := s.batch.flush(s.out, true); err == nil {
			err = flushErr
		}
	}
	return err
}

// Close ends the session and gives its memory back. A handshake under way fails.
func (s *Session) Close() {
	s.End(net.ErrClosed)
	s.now = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening != nil {
		s.opening.ended = net.ErrClosed
		o := s.opening
		if o.over || !o.running {
			o.early.release()
			s.noteIdle()
		}
		if o.started && !o.running && !o.left {
			o.left = true
			s.handshakes.leave(s)
			s.running.Done()
		}
	}
}

// State returns what was agreed on.
func (s *Session) State() tls.ConnectionState { return s.conn.ConnectionState() }
