package aio

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio/internal/tlsfed"
	"github.com/sluice-go/sluice/mem"
)

const (
	// DefaultHandshakeTimeout is used when HandshakeTimeout is 0.
	DefaultHandshakeTimeout = 10 * time.Second
	// DefaultHandshakes is used when Handshakes is 0.
	DefaultHandshakes = 1024
)

// ConnHandler is a Handler that calls back for each connection, with a state of type S:
//
//	h := &aio.ConnHandler[session]{Data: func(c *aio.Conn[session], p []byte) error { ... }}
//	err := aio.Serve(ctx, listeners, aio.Options{}, h)
//
// Open, Data or Buf, and Closed of one connection are called by one goroutine, that of
// the connection's watcher, in this order and never at the same time. None should block
// for long. A panic in one ends the program, as in any goroutine: recover within the
// callback where that is not wanted. runtime.Goexit in one, as of a test's FailNow, closes its
// connection, as an error does. Do not change the fields while the handler serves.
//
// A connection is not read from while bytes are queued for its peer: a peer that sends
// and does not read delays only itself. Reading goes on when all is written. What has come in
// one read is all handed on: see Conn.WhenSent.
type ConnHandler[S any] struct {
	// Open is called with each new connection; with TLS, after the handshake. An error
	// closes the connection. It may be nil, as may all but one of Data and Buf.
	Open func(c *Conn[S]) error
	// Data is called with the received bytes, borrowed until it returns. An error
	// closes the connection, after the bytes written before are sent.
	Data func(c *Conn[S], p []byte) error
	// Buf is Data for bytes that are kept or passed on: b is transferred. Set exactly
	// one of the two. While the budget of Options.Allocator has nothing left, connections
	// are not read from: they wait in its queue, in turn with all others that do. Over TLS,
	// with Data too, they wait with what has come of a record: beyond the budget, by at most a
	// record for each connection.
	// One that needs more than the whole budget is closed with mem.ErrBudget. IdleTimeout ends a
	// wait for memory as it does one for bytes; a peer that closes meanwhile is not noticed before.
	// Bufs that the program keeps of messages that have come in part count: connections that
	// fill the budget with such parts wait for each other until IdleTimeout, or for ever. Gather parts with
	// Data, in memory without a budget: Frames, or FeedCopy of a sluice.BufReader.
	Buf func(c *Conn[S], b mem.Buf) error
	// Ended is called when the peer has ended its side (io.EOF; over TLS: close_notify),
	// after its last bytes. When it returns nil, the connection can still be written to,
	// until Close or CloseWrite; nothing is read from it any more, and IdleTimeout does not
	// apply. Its error, or io.EOF when Ended is nil, closes the connection.
	Ended func(c *Conn[S]) error
	// Closed is called once for each connection for which Open was, or would have been,
	// with the reason: io.EOF when the peer has ended; net.ErrClosed after Close;
	// ErrDeadline, wrapped with the limit that it was; ErrQueueFull; ErrWatcherClosed when the server ends; what Open or Data
	// returned; what the kernel or crypto/tls said. Writes return ErrConnClosed. The address of a TCP peer can still be
	// asked for; keep that of this end in Open, see LocalAddr. It is never
	// called by a Write, WriteMany or Close of the program, which may hold a lock that Closed takes.
	Closed func(c *Conn[S], reason error)

	// TLS makes every accepted connection begin with a handshake. The connection has a
	// goroutine only during that. It is used as tls.Server does; sessions, client
	// certificates, protocols and its callbacks work, and callbacks may wait.
	//
	// If crypto/tls does not go on after a temporary error, which Go 1.25 and 1.26 do,
	// the server says so to OnError and runs on the Std driver; a handshake is part of
	// the first read then, and Open is called before it.
	TLS *tls.Config
	// HandshakeTimeout is how long a peer may take from its connection to the end of
	// its handshake.
	HandshakeTimeout time.Duration
	// Handshakes is how many handshakes run at once, each in a goroutine, from the
	// peer's first record on. Others wait until one ends; one whose peer was silent for a second
	// ends then. Addresses have a place in turn, and by turns who came last, so that many silent
	// peers do not keep out who comes behind them from another address; those that come again at once do who
	// shares theirs. Each takes about 40 KiB, and
	// twice that before the collector runs: a small container has fewer of them, or GOMEMLIMIT.
	// What waits keeps what has come, in up to 256 KiB. One that runs goes on beyond
	// the budget, which those that wait may have all of.
	Handshakes int
	// Refused is called when a handshake has failed: Open and Closed are not. Several
	// goroutines call it, one for each watcher.
	Refused func(remote net.Addr, err error)

	// IdleTimeout is how long a connection may be silent, or wait for memory. Then it is closed
	// with ErrDeadline. 0 is no limit. A single byte ends a silence: Conn.SetIdleTimeout, which
	// sets that of one connection, bounds the time of a whole message.
	IdleTimeout time.Duration
	// WriteTimeout is how long what waits for the peer may take to go out while the peer
	// is not read from because of it, or both sides have ended, or after Close: then the
	// connection is closed, before Close with ErrDeadline. Time in which this process itself did
	// not run counts. 0 is no limit, and DefaultGrace after Close. What is
	// pushed to a peer that says nothing is bounded by IdleTimeout and Options.QueueLimit: set
	// both where others fill its queue, or a peer that stands still keeps it.
	WriteTimeout time.Duration

	made       sync.Once
	calls      callbacks[S]
	handshakes tlsfed.Handshakes
	standard   bool // TLS by the Std driver
}

// resumes returns an error when crypto/tls does not work as this package needs it.
var resumes = tlsfed.Resumes

// prepare checks the fields, has submissions return what is wrong, and selects Std when resumes
// fails: that is the error.
func (h *ConnHandler[S]) prepare(o *Options) error {
	o.ErrorsComplete = false // the methods of Conn return errors
	h.made.Do(func() {
		if (h.Data == nil) == (h.Buf == nil) {
			panic("aio: a ConnHandler has one of Data and Buf")
		}
		if h.HandshakeTimeout < 0 || h.Handshakes < 0 || h.IdleTimeout < 0 || h.WriteTimeout < 0 {
			panic(fmt.Sprintf("aio: ConnHandler with HandshakeTimeout %v, Handshakes %d, IdleTimeout %v, WriteTimeout %v: none can be negative",
				h.HandshakeTimeout, h.Handshakes, h.IdleTimeout, h.WriteTimeout))
		}
		if h.handshakes.Limit = h.Handshakes; h.Handshakes == 0 {
			h.handshakes.Limit = DefaultHandshakes
		}
		h.calls = callbacks[S]{
			open: h.Open, data: h.Data, buf: h.Buf, ended: h.Ended, closed: h.Closed, refused: h.Refused,
			idle: h.IdleTimeout, write: h.WriteTimeout, handshake: h.HandshakeTimeout,
		}
		if h.HandshakeTimeout == 0 {
			h.calls.handshake = DefaultHandshakeTimeout
		}
	})
	if h.TLS == nil {
		return nil
	}
	err := resumes()
	if err != nil {
		h.standard, o.Driver = true, Std
	}
	return err
}

// Accepted is for the Server.
func (h *ConnHandler[S]) Accepted(w *Watcher, conn net.Conn) {
	if h.standard {
		conn = tls.Server(conn, h.TLS)
	}
	c := newConn(h.loopOf(w), conn)
	if h.TLS == nil || h.standard {
		c.open()
	} else {
		c.secure = h.newSecure(c, w.memory)
	}
	c.proceed()
}

// loopOf returns the loop of w, which is new for its first connection.
func (h *ConnHandler[S]) loopOf(w *Watcher) *loop[S] {
	for _, l := range w.loops {
		if l, ok := l.(*loop[S]); ok && l.calls == &h.calls {
			return l
		}
	}
	l := &loop[S]{watcher: w, calls: &h.calls}
	w.loops = append(w.loops, l)
	return l
}

// newSecure returns the TLS of c before its handshake.
func (h *ConnHandler[S]) newSecure(c *Conn[S], memory *mem.Allocator) *secure {
	s := &secure{conn: c, memory: memory, until: timeLimit(h.calls.handshake)}
	s.records = Frames{Size: tlsfed.RecordSize, Limit: tlsfed.MaxRecord, Allocator: memory, beyond: true}
	s.session = tlsfed.New(h.TLS, s, memory, &h.handshakes, &c.loop.handshakes)
	return s
}

// Completed is for the Server.
func (h *ConnHandler[S]) Completed(_ *Watcher, r *OpResult) {
	switch c := r.Context.(type) {
	case *Conn[S]:
		if r.Operation == OpWrite {
			c.broken(r.Error) // only failures complete
		} else {
			c.read(r)
		}
	case *flushed[S]:
		(*Conn[S])(c).flushed(r.Conn, r.Error)
	case *drained[S]:
		(*Conn[S])(c).end(c.reason)
	case *halved[S]:
		(*Conn[S])(c).shut = true
		(*Conn[S])(c).endBoth()
	case *over[S]:
		if r.Error != nil {
			(*Conn[S])(c).broken((*Conn[S])(c).unsent(r.Error))
		} else {
			(*Conn[S])(c).finish(io.EOF)
		}
	case *closing[S]:
		switch r.Error {
		case nil:
			(*Conn[S])(c).finish(net.ErrClosed)
		case ErrConnClosed: // a write after CloseWrite: what came before that goes out
			(*Conn[S])(c).finish(r.Error)
		default:
			(*Conn[S])(c).broken(r.Error)
		}
	case *woken[S]:
		(*Conn[S])(c).handshake()
	case sent[S]:
		if r.Error == nil && c.conn.phase == serves {
			c.f()
		}
	case func():
		c()
	}
}

// WriteMany writes b, transferred, to each of conns: the bytes are not copied for each.
// slow says what happens to slow connections. A connection that fails is closed, and
// Closed is called with the reason. Over TLS the bytes are copied, and encrypted, for each.
// Any goroutine may call it, also with connections of several watchers. It panics when slow
// is none of the policies.
func (h *ConnHandler[S]) WriteMany(conns []*Conn[S], b mem.Buf, slow SlowPolicy) Spread {
	slow.check()
	defer b.Release()
	var all Spread
	for _, c := range conns {
		one := c.writeOne(&b, slow)
		all.Written += one.Written
		all.Queued += one.Queued
		all.Skipped += one.Skipped
		all.Closed += one.Closed
		all.Failed += one.Failed
	}
	return all
}
