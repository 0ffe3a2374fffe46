package aio_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// An op is an operation that was submitted through a fixture. It is the context
// of the submission too, so that a completion finds it.
type op struct {
	name  string
	what  aio.OpType
	conn  net.Conn
	buf   []byte // what was submitted, nil for memory of others
	timed bool   // may end before earlier ones, by a deadline or a cancelled context
	loose bool   // was submitted at the same time as others: there is no order
	swap  bool   // a read without a buffer
	done  bool
	res   aio.OpResult // with a copy of what was the watcher's
}

func (o *op) String() string { return fmt.Sprintf("%s on %v", o.name, o.conn.RemoteAddr()) }

// bytes are those that were read.
func (o *op) bytes() []byte {
	if o.what == aio.OpWrite {
		return nil
	}
	return o.res.Buffer[:o.res.Size]
}

// take returns them and releases the Buf that they came in, if there is one.
func (o *op) take() []byte {
	b := o.bytes()
	if o.res.Buf.Valid() {
		b = slices.Clone(b)
		o.res.Buf.Release()
		o.res.Buffer = b
	}
	return b
}

func (f *fixture) read(conn net.Conn, n int) *op {
	f.Helper()
	o := &op{name: fmt.Sprintf("Read of %d", n), conn: conn, buf: make([]byte, n)}
	return f.must(o, func() error { return f.w.Read(o, conn, o.buf) })
}

// readTimeout of 0 is one without a buffer.
func (f *fixture) readTimeout(conn net.Conn, n int, deadline time.Time) *op {
	f.Helper()
	o := &op{name: fmt.Sprintf("ReadTimeout of %d", n), conn: conn, buf: make([]byte, n), timed: !deadline.IsZero()}
	if n == 0 {
		o.buf, o.swap = nil, true
	}
	return f.must(o, func() error { return f.w.ReadTimeout(o, conn, o.buf, deadline) })
}

func (f *fixture) readFull(conn net.Conn, n int, deadline time.Time) *op {
	f.Helper()
	o := &op{name: fmt.Sprintf("ReadFull of %d", n), conn: conn, buf: make([]byte, n), timed: !deadline.IsZero()}
	return f.must(o, func() error { return f.w.ReadFull(o, conn, o.buf, deadline) })
}

// readNil reads without a buffer.
func (f *fixture) readNil(conn net.Conn) *op {
	f.Helper()
	o := &op{name: "Read without a buffer", conn: conn, swap: true}
	return f.must(o, func() error { return f.w.Read(o, conn, nil) })
}

func (f *fixture) readBuf(conn net.Conn, n int, deadline time.Time) *op {
	f.Helper()
	o := &op{name: fmt.Sprintf("ReadBuf of %d", n), conn: conn, timed: !deadline.IsZero()}
	return f.must(o, func() error { return f.w.ReadBuf(o, conn, n, deadline) })
}

// write writes a copy of data, which is spoilt when the watcher hands it back:
// what has not gone out by then goes out wrong.
func (f *fixture) write(conn net.Conn, data []byte) *op {
	f.Helper()
	return f.writeTimeout(conn, data, time.Time{})
}

func (f *fixture) writeTimeout(conn net.Conn, data []byte, deadline time.Time) *op {
	f.Helper()
	o := f.newWrite(conn, fmt.Sprintf("Write of %d", len(data)), slices.Clone(data))
	o.timed = !deadline.IsZero()
	return f.must(o, func() error { return f.w.WriteTimeout(o, conn, o.buf, deadline) })
}

func (f *fixture) writeBuf(conn net.Conn, b mem.Buf, deadline time.Time) *op {
	f.Helper()
	o := f.newWrite(conn, fmt.Sprintf("WriteBuf of %d", b.Len()), nil)
	o.timed = !deadline.IsZero()
	return f.must(o, func() error { return f.w.WriteBuf(o, conn, b, deadline) })
}

func (f *fixture) writeMemory(conn net.Conn, m *mem.Memory, deadline time.Time) *op {
	f.Helper()
	o := f.newWrite(conn, fmt.Sprintf("WriteMemory of %d", m.Size), nil)
	o.timed = !deadline.IsZero()
	return f.must(o, func() error { return f.w.WriteMemory(o, conn, m, deadline) })
}

func (f *fixture) newWrite(conn net.Conn, name string, buf []byte) *op {
	return &op{name: name, what: aio.OpWrite, conn: conn, buf: buf}
}

// must submits o, and fails the test if that is refused.
func (f *fixture) must(o *op, submit func() error) *op {
	f.Helper()
	if err := f.submit(o, submit); err != nil {
		f.Fatalf("%v was refused: %v", o, err)
	}
	return o
}

// submit enters an operation into the books and submits it. It keeps the books
// closed meanwhile, so that their order is the order of submission.
func (f *fixture) submit(o *op, submit func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := queueKey{o.conn, o.what}
	f.queues[k] = append(f.queues[k], o)
	f.pending++
	err := submit()
	if err != nil {
		f.queues[k] = f.queues[k][:len(f.queues[k])-1]
		f.pending--
	}
	return err
}

// complete checks what holds for every completion. It is called with mu held.
func (f *fixture) complete(o *op, r *aio.OpResult) {
	f.Helper()
	if o.done {
		f.Errorf("%v completed twice: %d, %v, and then %d, %v", o, o.res.Size, o.res.Error, r.Size, r.Error)
		return
	}
	o.done = true
	o.res = *r
	f.completed = append(f.completed, o)
	f.pending--
	if r.Operation != o.what {
		f.Errorf("%v came back as a %v", o, r.Operation)
	}
	if r.Conn != o.conn {
		f.Errorf("%v came back with another connection: %v", o, r.Conn.RemoteAddr())
	}
	f.checkOrder(o, r)
	f.checkBuffer(o, r)
}

// checkOrder checks that whatever was submitted before o, the same way on the
// same connection, is complete.
func (f *fixture) checkOrder(o *op, r *aio.OpResult) {
	f.Helper()
	k := queueKey{o.conn, o.what}
	i := slices.Index(f.queues[k], o)
	outOfTurn := o.timed && r.Error != nil
	if i > 0 && !outOfTurn && !o.loose {
		f.Errorf("%v completed before %v, which was submitted first", o, f.queues[k][0])
	}
	if i == 0 {
		f.queues[k] = f.queues[k][1:]
		return
	}
	f.queues[k] = slices.Delete(f.queues[k], i, i+1)
}

// checkBuffer checks that the buffer comes back as it was given, whatever
// became of the operation.
func (f *fixture) checkBuffer(o *op, r *aio.OpResult) {
	f.Helper()
	if r.Size < 0 {
		f.Errorf("%v completed with the size %d", o, r.Size)
	}
	switch {
	case o.buf != nil:
		if len(r.Buffer) != len(o.buf) || &r.Buffer[0] != &o.buf[0] {
			f.Errorf("%v came back with another buffer, of %d bytes", o, len(r.Buffer))
			return
		}
		if r.Size > len(o.buf) {
			f.Errorf("%v came back with %d bytes", o, r.Size)
		}
		if r.IsSwapBuffer {
			f.Errorf("%v: IsSwapBuffer is set, the buffer is the program's", o)
		}
		if o.what == aio.OpWrite {
			if r.Error == nil && r.Size != len(o.buf) {
				f.Errorf("%v completed without an error after %d bytes", o, r.Size)
			}
			// It is the program's again: the watcher must not look at it any more.
			clear(o.buf)
		} else {
			// A watcher that still writes into it races with this.
			copy(o.buf, slices.Clone(o.buf))
		}
	case o.swap:
		if len(r.Buffer) != r.Size {
			f.Errorf("%v came back with a buffer of %d bytes and the size %d", o, len(r.Buffer), r.Size)
		}
		if r.Size > 0 && !r.IsSwapBuffer {
			f.Errorf("%v: IsSwapBuffer is not set", o)
		}
		o.res.Buffer = slices.Clone(r.Buffer)
	case o.what == aio.OpRead:
		if r.Size > 0 && (r.Buf.Len() != r.Size || &r.Buf.Bytes()[0] != &r.Buffer[0] || len(r.Buffer) != r.Size) {
			f.Errorf("%v came back with %d bytes in Buf, %d in Buffer, and the size %d", o, r.Buf.Len(), len(r.Buffer), r.Size)
		}
		if r.Size == 0 && r.Buf.Valid() {
			f.Errorf("%v read nothing and came back with a Buf", o)
		}
	default:
		if r.Buffer != nil {
			f.Errorf("%v was transferred and came back with a buffer", o)
		}
	}
	if o.what == aio.OpRead && r.Error == nil && r.Size == 0 {
		f.Errorf("%v completed with nothing, and without an error", o)
	}
}

// wantError checks how an operation ended.
func (f *fixture) wantError(o *op, want ...error) {
	f.Helper()
	if !o.done {
		f.Fatalf("%v has not completed", o)
	}
	for _, w := range want {
		if w == nil && o.res.Error == nil || w != nil && errors.Is(o.res.Error, w) {
			return
		}
	}
	f.Errorf("%v completed with %v, want %v", o, o.res.Error, want)
}
