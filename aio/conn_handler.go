package aio

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
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
// for long. Do not change the fields while the handler serves.
//
// A connection is not read from while bytes are queued for its peer: a peer that sends
// and does not read delays only itself. Reading goes on when all is written.
type ConnHandler[S any] struct {
	// Open is called with each new connection; with TLS, after the handshake. An error
	// closes the connection. It may be nil, as may all but one of Data and Buf.
	Open func(c *Conn[S]) error
	// Data is called with the received bytes, borrowed until it returns. An error
	// closes the connection, after the bytes written before are sent.
	Data func(c *Conn[S], p []byte) error
	// Buf is Data for bytes that are kept or passed on: b is transferred. Set exactly
	// one of the two.
	Buf func(c *Conn[S], b mem.Buf) error
	// Closed is called once for each connection for which Open was, or would have been,
	// with the reason: io.EOF when the peer has ended; net.ErrClosed after Close;
	// ErrDeadline; ErrQueueFull; ErrWatcherClosed when the server ends; what Open or Data
	// returned; what the kernel or crypto/tls said. The addresses can still be asked for.
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
	// peer's first record on. Others wait until one ends.
	Handshakes int
	// Refused is called when a handshake has failed: Open and Closed are not. Several
	// goroutines call it, one for each watcher.
	Refused func(remote net.Addr, err error)

	// IdleTimeout is how long a connection may be silent. Then it is closed with
	// ErrDeadline. 0 is no limit.
	IdleTimeout time.Duration
	// WriteTimeout is how long what waits for the peer may take to go out while the peer
	// is not read from because of it, or after Close: then the connection is closed, in
	// the first case with ErrDeadline. 0 is no limit, and DefaultGrace after Close.
	WriteTimeout time.Duration

	made       sync.Once
	handshakes tlsfed.Handshakes
	standard   bool // TLS by the Std driver
}

// resumes returns an error when crypto/tls does not work as this package needs it.
var resumes = tlsfed.Resumes

// prepare checks the fields, and selects Std when resumes fails.
func (h *ConnHandler[S]) prepare(r *serving) {
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
	})
	if h.TLS == nil {
		return
	}
	if err := resumes(); err != nil {
		h.standard, r.options.Driver = true, Std
		r.hear(err)
	}
}

// The contexts of operations and of results without one, beside *Conn[S] itself, of
// which these are other names.
type (
	flushed[S any] Conn[S] // what the pace had waiting is written
	drained[S any] Conn[S] // everything is written, the end of the connection too
	closing[S any] Conn[S] // Close, or the reason in Error
	woken[S any]   Conn[S] // the handshake is over, or wants more
)

// Accepted is for the Server.
func (h *ConnHandler[S]) Accepted(w *Watcher, conn net.Conn) {
	if h.standard {
		conn = tls.Server(conn, h.TLS)
	}
	c := &Conn[S]{handler: h, watcher: w, name: [1]net.Conn{conn}}
	if h.TLS == nil || h.standard {
		c.open()
	} else {
		c.secure = newSecure(c)
	}
	c.proceed()
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
		(*Conn[S])(c).flushed(r.Error)
	case *drained[S]:
		(*Conn[S])(c).end(c.reason)
	case *closing[S]:
		if r.Error != nil {
			(*Conn[S])(c).broken(r.Error)
		} else {
			(*Conn[S])(c).finish(net.ErrClosed)
		}
	case *woken[S]:
		(*Conn[S])(c).handshake()
	case func():
		c()
	}
}

// WriteMany writes b, transferred, to each of conns: the bytes are not copied for each.
// slow says what happens to slow connections. A connection that fails is closed, and
// Closed is called with the reason. Over TLS the bytes are copied, and encrypted, for each.
func (h *ConnHandler[S]) WriteMany(conns []*Conn[S], b mem.Buf, slow SlowPolicy) Spread {
	defer b.Release()
	var all Spread
	for _, c := range conns {
		var one op.Spread
		if c.secure == nil {
			one, _ = c.watcher.driver.WriteMany(c, c.name[:], &b, op.Slow(slow))
		} else {
			one = c.secure.writeOne(b.Bytes(), slow)
		}
		all.Written += one.Written
		all.Queued += one.Queued
		all.Skipped += one.Skipped
		all.Closed += one.Closed
		all.Failed += one.Failed
	}
	return all
}

// deadline returns now plus limit, or the zero time when limit is 0.
func deadline(limit time.Duration) time.Time {
	if limit == 0 {
		return time.Time{}
	}
	return time.Now().Add(limit)
}

// serverEnds says that err came with the end of the server, which closes the
// connections itself.
func serverEnds(err error) bool { return errors.Is(err, ErrWatcherClosed) }
