package live

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
)

// A Writer sends streams to viewers. It has a few loops, each with a share of
// the viewers, which are in groups: those of one stream, form and merge time.
// A group whose stream has something new is due when its merge time has passed;
// then what has come is gathered once, and sent to each in one call that does
// not wait. What a socket does not take is tried again later, so viewers do not wait
// for each other.
//
// That is for TCP and Unix sockets on Unix systems, and for TLS over a Wire on them.
// Other connections have a goroutine each, and deadlines. One of a protocol with its own
// acknowledgements has Unacked() int, for a viewer's figures: how many of the bytes written
// the peer has not acknowledged.
type Writer struct {
	options WriterOptions
	loops   []*loop

	mu      sync.Mutex
	viewers map[uint64]*Viewer
	last    uint64
	next    int // loop for the next viewer
	closed  bool
	input   input
	empty   chan struct{} // closed when the last viewer has gone; nil when no goroutine waits for that
}

// NewWriter returns a Writer whose loops run until Close.
func NewWriter(o WriterOptions) *Writer {
	w := &Writer{options: o.withDefaults(runtime.GOMAXPROCS(0)), viewers: make(map[uint64]*Viewer)}
	w.input.open(w.came)
	for range w.options.Loops {
		l := newLoop(w.forget)
		w.loops = append(w.loops, l)
		go l.run()
	}
	return w
}

// Add makes conn a viewer of s. From then on the writer alone writes to conn,
// and closes it at the end; the caller goes on reading from it, and calls
// Viewer.Close when the peer has gone. When Add fails conn is the caller's: it
// returns ErrClosed after Close, or when s is over. It panics without conn or s, and for a
// form that s does not have: FormRaw goes with Raw and Packets, the others with neither.
func (w *Writer) Add(conn net.Conn, s *Stream, o ViewerOptions) (*Viewer, error) {
	return w.add(conn, s, o, nil)
}

// add adds a viewer, one of another process unless st is nil.
func (w *Writer) add(conn net.Conn, s *Stream, o ViewerOptions, st *ViewerState) (*Viewer, error) {
	if conn == nil || s == nil {
		panic("live: Add without a connection or a stream") // here, and not in a loop when the first frame comes
	}
	if o.Form > FormHop || (o.Form == FormRaw) != s.options.bare() {
		panic(fmt.Sprintf("live: Add with %v to a stream with Raw = %v, Packets = %v", o.Form, s.options.Raw, s.options.Packets))
	}
	if o.Merge < 0 {
		o.Merge = w.options.Merge
	}
	if w.viewers == nil {
		panic("live: Writer that NewWriter has not made")
	}
	v := newViewer(conn, s, &w.options)
	limitQueue(v.link.raw, quotaOf(s.byteRate()))
	limitBackoff(v.link.raw)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, ErrClosed
	}
	if !s.attach(v, o) {
		return nil, ErrClosed
	}
	if st != nil {
		v.restore(st)
	}
	w.last++
	v.id = w.last
	w.viewers[v.id] = v
	l := w.loops[w.next]
	w.next = (w.next + 1) % len(w.loops)
	v.owner, v.link.socket, v.cursor.own = l, &l.socket, &l.own
	if v.link.waits {
		o := newSolo(l.notify)
		v.owner, v.link.socket, v.cursor.own = o, new(socketWriter), &o.own
		v.link.socket.init()
	}
	if v.link.wire != nil {
		v.link.wire.keep()
	}
	l.add(v)
	if o.Unread && !w.input.add(v.link.raw, v.id, false) {
		go v.drain()
	}
	return v, nil
}

// came is called when the peer of a viewer has sent bytes that are waited for, or has
// closed its connection.
func (w *Writer) came(id uint64) {
	w.mu.Lock()
	v := w.viewers[id]
	w.mu.Unlock()
	switch {
	case v == nil:
	case v.options.readable != nil:
		go v.options.readable()
	default:
		v.Close(ErrGone)
	}
}

// AwaitReadable makes the writer call v's OnReadable when there is something to read from
// its connection, once. It reports false where it cannot: for TLS and other connections
// that writes wait for, on systems other than Linux, and when v or the writer is closed. The
// caller then reads on a goroutine of its own. Between this call and OnReadable
// no goroutine may read.
func (w *Writer) AwaitReadable(v *Viewer) bool {
	return !v.link.waits && v.link.wire == nil && w.input.add(v.link.raw, v.id, true)
}

// drain reads until the connection ends, where nothing else reports the end.
func (v *Viewer) drain() {
	_, _ = io.Copy(io.Discard, v.link.conn)
	v.Close(ErrGone)
}

// Viewers returns the viewers that there are, in no order.
func (w *Writer) Viewers() []*Viewer {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]*Viewer, 0, len(w.viewers))
	for _, v := range w.viewers {
		list = append(list, v)
	}
	return list
}

// Shutdown waits until all viewers have gone, which they do when their streams
// are over and they have got everything, or until ctx ends, and closes the
// writer. It returns the context's cause if that came first.
func (w *Writer) Shutdown(ctx context.Context) error {
	w.mu.Lock()
	var wait chan struct{}
	if len(w.viewers) > 0 {
		if w.empty == nil {
			w.empty = make(chan struct{})
		}
		wait = w.empty
	}
	w.mu.Unlock()
	var err error
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	w.Close()
	return err
}

// Close closes all viewers, with ErrClosed, and ends the loops. It returns when
// they have ended. A second Close waits for the same.
func (w *Writer) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	for _, v := range w.Viewers() {
		v.Close(ErrClosed)
	}
	for _, l := range w.loops {
		l.stop()
	}
	w.input.close()
}

// forget takes v off the list.
func (w *Writer) forget(v *Viewer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.viewers, v.id)
	if len(w.viewers) == 0 && w.empty != nil {
		close(w.empty)
		w.empty = nil
	}
}

// Adopt is Add for a viewer of another process, as State has returned it there, of a stream
// that Hub.Adopt has returned. o says what st does not: Name, Trailer, Unread, OnReadable and
// OnClose. An error that does not match ErrState is Add's.
func (w *Writer) Adopt(conn net.Conn, s *Stream, o ViewerOptions, st ViewerState) (*Viewer, error) {
	s.mu.Lock()
	first, next := s.ring.first, s.ring.next
	s.mu.Unlock()
	if st.Form > FormChunked || st.Merge < 0 || st.Begun && st.Seq > next || len(st.Control) > w.options.Control {
		return nil, fmt.Errorf("%w: a viewer at frame %d of %d to %d, form %v, merge %v, %d bytes of control", ErrState, st.Seq, first, next, st.Form, st.Merge, len(st.Control))
	}
	o.Form, o.Merge, o.Adapt, o.NoGOP, o.FromStart = st.Form, st.Merge, st.Adapt, st.NoGOP, st.FromStart
	o.After, o.Prelude = Mark{}, nil
	return w.add(conn, s, o, &st)
}
