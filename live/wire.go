package live

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// A Wire is the connection below a server's TLS. A Writer serves the viewers of a tls.Conn
// over a Wire from its loops, as it does those of plain sockets: what TLS makes of the
// stream is kept here until the socket takes it, so that no write waits. A viewer of
// TLS over another connection has a goroutine.
//
//	tls.Server(live.NewWire(conn), config)
//
// Until the connection is a viewer's a Wire only passes on. All methods may be called
// concurrently.
type Wire struct {
	net.Conn

	mu    sync.Mutex
	keeps bool   // Write keeps what it is given
	out   []byte // records in the order of their encryption, not sent
	lent  bool   // out is the memory of a socketWriter
}

// maxSealed is how many bytes a Wire keeps: a step of send, and what a peer that reads
// nothing makes TLS answer.
const maxSealed = 128 << 10

// errSealed: a peer reads nothing, and makes TLS answer on and on.
var errSealed = errors.New("live: too many answers of TLS are waiting")

// NewWire returns conn, transferred, for a tls.Server.
func NewWire(conn net.Conn) *Wire { return &Wire{Conn: conn} }

// NetConn returns the connection below.
func (w *Wire) NetConn() net.Conn { return w.Conn }

// Write implements net.Conn. It does not wait when the connection is a viewer's.
func (w *Wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	if !w.keeps {
		w.mu.Unlock()
		return w.Conn.Write(p) // which may wait
	}
	defer w.mu.Unlock()
	if len(w.out)+len(p) > maxSealed {
		return 0, errSealed
	}
	w.out = append(w.out, p...)
	return len(p), nil
}

// wireOf returns the Wire below conn when that is TLS, with its handshake done.
func wireOf(conn net.Conn) *Wire {
	c, ok := conn.(*tls.Conn)
	if !ok {
		return nil
	}
	if w, ok := c.NetConn().(*Wire); ok && c.ConnectionState().HandshakeComplete {
		return w
	}
	return nil
}

// keep makes Write keep what it is given from now on. A Write that waits ends with an
// error: TLS answers a peer that does not read, and would hold up a loop.
func (w *Wire) keep() {
	w.mu.Lock()
	w.keeps = true
	w.mu.Unlock()
	w.Conn.SetWriteDeadline(time.Unix(1, 0)) // what a loop sends has none
}

// lend makes Write put the records into s's memory until the next flush.
func (w *Wire) lend(s *socketWriter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.out) == 0 {
		w.out, w.lent = s.sealed[:0], true
	}
}

// flush sends what is kept to c, without waiting, and returns how many bytes went out and
// how many are left.
func (w *Wire) flush(s *socketWriter, c syscall.RawConn) (n, left int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.out) > 0 {
		s.whole[0] = w.out
		n, err = s.send(c, s.whole[:], len(w.out))
		s.whole[0] = nil
	}
	rest := w.out[n:]
	if w.lent {
		s.sealed = w.out[:0]
		w.lent, rest = false, bytes.Clone(rest)
	}
	if w.out = rest; len(rest) == 0 {
		w.out = nil
	}
	return n, len(rest), err
}

// kept is how many bytes wait to be sent.
func (w *Wire) kept() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.out)
}
