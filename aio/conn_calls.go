package aio

import (
	"crypto/tls"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// Write sends p, borrowed until it returns. It never blocks: bytes that the socket does
// not take are copied and queued, within Options.QueueLimit. After an error nothing was
// written: ErrQueueFull, ErrConnClosed. A later failure closes the connection.
//
// Over TLS a write beyond the limit closes the connection with ErrQueueFull, since its
// bytes are encrypted by then.
func (c *Conn[S]) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.closing.Load() {
		return 0, ErrConnClosed
	}
	if c.secure != nil {
		return c.secure.write(p)
	}
	if err := c.submit(op.Request{Kind: op.WriteBytes, Buf: p, Lent: true, Quiet: true}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteBuf is Write of b, which is transferred, also when WriteBuf returns an error. It
// is not copied, except over TLS.
func (c *Conn[S]) WriteBuf(b mem.Buf) error {
	if isEmpty(b) {
		return nil
	}
	if c.closing.Load() {
		b.Release()
		return ErrConnClosed
	}
	if c.secure != nil {
		defer b.Release()
		_, err := c.Write(b.Bytes())
		return err
	}
	return c.submit(op.Request{Kind: op.WriteBuf, Single: b, Quiet: true}) //sluice:moved
}

// WriteMemory is Write of m, which is transferred, also when WriteMemory returns an error:
// all of its parts, or none, and nothing that others write comes between them. That is for
// a head of each connection's own before bytes that many share. They are not copied, except
// over TLS.
func (c *Conn[S]) WriteMemory(m *mem.Memory) error {
	if m == nil {
		panic("aio: Conn.WriteMemory(nil)")
	}
	if m.Size == 0 {
		m.Release()
		return nil
	}
	if c.closing.Load() {
		m.Release()
		return ErrConnClosed
	}
	if c.secure == nil {
		return c.submit(op.Request{Kind: op.WriteMemory, Memory: m, Quiet: true})
	}
	defer m.Release()
	if len(m.Buffers) == 1 {
		_, err := c.Write(m.Bytes())
		return err
	}
	whole := c.secure.memory.Get(m.Size)
	defer whole.Release()
	m.CopyTo(whole.Bytes())
	_, err := c.Write(whole.Bytes())
	return err
}

// writeOne is ConnHandler.WriteMany for this connection. b is borrowed.
func (c *Conn[S]) writeOne(b *mem.Buf, slow SlowPolicy) (one op.Spread) {
	if c.closing.Load() {
		one.Failed++
		return one
	}
	if c.secure == nil {
		one, _ = c.loop.watcher.driver.WriteMany(c, c.name[:], b, op.Slow(slow))
		return one
	}
	if slow != SlowQueue && c.held() > 0 {
		if slow == SlowSkip {
			one.Skipped++
		} else {
			one.Closed++
			_ = c.fail(ErrQueueFull)
		}
		return one
	}
	switch _, err := c.secure.write(b.Bytes()); {
	case err != nil:
		one.Failed++
	case c.held() > 0:
		one.Queued++
	default:
		one.Written++
	}
	return one
}

// Queued returns how much memory the queued writes hold, in bytes.
func (c *Conn[S]) Queued() int { return c.held() }

// CloseWrite ends the sending side when all that was written before is sent: the peer
// sees the end of the stream (over TLS: close_notify) and can still send. It returns at
// once. When the peer has ended too, and all is sent, the connection is closed with io.EOF.
// A second call does nothing, the first one after Close or Closed returns ErrConnClosed. A later Write is not sent, and
// closes the connection. A connection of the program's own type without CloseWrite is closed with ErrUnsupported.
func (c *Conn[S]) CloseWrite() error {
	if c.halves.Swap(true) { // a second shutdown fails when the peer has ended too
		return nil
	}
	var err error
	switch {
	case c.closing.Load():
		err = ErrConnClosed
	case c.secure != nil:
		err = c.secure.session.CloseWrite()
	default:
		err = c.submit(op.Request{Kind: op.EndWrites, Quiet: true})
	}
	if err == nil {
		_ = c.loop.watcher.driver.Post((*halved[S])(c), nil, nil)
	} else {
		c.halves.Store(false)
	}
	return err
}

// Close closes the connection when all queued bytes are sent, after WriteTimeout at the
// latest, when the peer of a TCP connection sees a reset. What is written later is not
// sent: ErrConnClosed. It returns at once; Closed is called with net.ErrClosed.
//
// While the peer of a TCP connection is still sending, the system answers a close with a
// reset, which may throw away what the peer has not read: an answer that refuses a long
// request. Use CloseWrite then, drop what Data gets, and Close after a time of your own.
func (c *Conn[S]) Close() error {
	c.closing.Store(true)
	return c.fail(nil)
}

// Do calls f on the goroutine that makes the callbacks of this connection. When it
// returns an error, ErrWatcherClosed, f is not called. It panics when f is nil.
func (c *Conn[S]) Do(f func()) error {
	if f == nil { // or it would be called where the stack does not show by whom
		panic("aio: Conn.Do(nil)")
	}
	return c.loop.watcher.driver.Post(f, nil, nil)
}

// WhenSent calls f, as Do does, when all that was written before is sent. f is not called when
// the connection ends first, or WhenSent returns an error: ErrConnClosed, ErrWatcherClosed.
//
// It is for requests that a peer sends without waiting for their long answers. Data gets all that
// one read brings: answer no more while Queued is above a bound, and go on in f. Where a peer may
// end its side behind its requests, an Ended that returns nil keeps the connection until then.
// It panics when f is nil.
func (c *Conn[S]) WhenSent(f func()) error {
	if f == nil {
		panic("aio: Conn.WhenSent(nil)")
	}
	return c.loop.watcher.driver.Submit(c.name[0], op.Request{Kind: op.Flush, Ctx: sent[S]{c, f}})
}

// SetIdleTimeout sets ConnHandler.IdleTimeout for this connection alone: for protocols in which
// the peer says how long it may be silent, and for messages that have to come whole in time, as
// in the example. It holds from the next read on, which follows the callback when it is called
// in Open or Data. Over TLS the first read may be under way since the handshake, and has at most
// HandshakeTimeout to go on. 0 is no limit; it panics when d is negative.
func (c *Conn[S]) SetIdleTimeout(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("aio: Conn.SetIdleTimeout(%v): it cannot be negative", d))
	}
	c.idle = d
}

// Pause stops reading from c, so that Data is not called any more. It may be called once
// more if Pause is called outside Open and Data of c. While c is paused the end of the
// connection is noticed only by a failed write.
func (c *Conn[S]) Pause() { c.paused = true }

// Resume ends a Pause. Outside the callbacks of c itself, Data and Closed may be called
// before it returns.
func (c *Conn[S]) Resume() {
	c.paused = false
	if c.calling {
		return // what called back goes on
	}
	if c.secure == nil || c.decrypted() {
		c.proceed()
	}
}

// PaceBy makes reading from c depend on other, a connection of the same watcher to which
// the bytes of c are passed on: c is read from only while no bytes are queued for other's
// peer. Bytes queued for c's own peer do not count any more.
func (c *Conn[S]) PaceBy(other *Conn[S]) { c.pace = other }

// Attach makes the watcher of c serve conn, transferred, with the same callbacks and
// without TLS: for example the other side of a gateway. Of a UDP connection Data gets one datagram
// at a time, of at most Options.BufferSize bytes; empty ones are neither handed on nor sent. Open is not called. When the watcher is
// closed or cannot take conn over, which has no descriptor or there is none left for it, conn
// is closed, and Closed is called with the reason before Attach returns.
func (c *Conn[S]) Attach(conn net.Conn, state S) *Conn[S] {
	n := newConn(c.loop, conn)
	n.State, n.opened = state, true
	if _, err := n.submitNext(mem.Slab{}); err != nil {
		n.end(err) // as it is: what is not served yet has no queue for which it could be closed
	}
	return n
}

// RemoteAddr returns the peer's address, also after the end; but that of a Unix socket's peer
// may be empty then.
func (c *Conn[S]) RemoteAddr() net.Addr { return c.name[0].RemoteAddr() }

// LocalAddr returns the address of this end. After the end, in Closed too, it may be a zero
// address of the same network: the system does not know it any more.
func (c *Conn[S]) LocalAddr() net.Addr { return c.name[0].LocalAddr() }

// SyscallConn gives access to the descriptor of a connection that Serve has accepted, for
// the socket's options and the credentials of a peer: by Control alone, and not for reading
// or writing. After the end Control returns net.ErrClosed. A connection that has no
// descriptor is ErrUnsupported.
func (c *Conn[S]) SyscallConn() (syscall.RawConn, error) {
	conn := c.name[0]
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	if has, ok := conn.(syscall.Conn); ok {
		return has.SyscallConn()
	}
	return nil, ErrUnsupported
}

// ConnectionState returns the result of the TLS handshake; ok is false without TLS. When TLS runs
// on the Std driver, see ConnHandler.TLS, the state is empty until the first bytes have come.
func (c *Conn[S]) ConnectionState() (state tls.ConnectionState, ok bool) {
	if over, ok := c.name[0].(*tls.Conn); ok {
		if c.came { // or this would wait for the handshake
			state = over.ConnectionState()
		}
		return state, true
	}
	if c.secure == nil {
		return state, false
	}
	return c.secure.session.State(), true
}
