package aio

import (
	"context"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// Read submits a read into buf, which completes as soon as some bytes have come.
// ctx is anything, and comes back in OpResult.Context. buf is the watcher's until
// the completion. With a nil or empty buf the read takes memory of the watcher,
// when bytes have come and not before: OpResult.Buffer is borrowed until the next
// WaitIO then.
//
// The end of the stream is io.EOF, in the completion. An error of Read itself
// means that nothing was submitted and that there will be no completion:
// ErrWatcherClosed; and, unless Options.ErrorsComplete is set, as it is by
// NewWatcher, also what is wrong with the connection: ErrConnClosed, ErrUnsupported.
func (w *Watcher) Read(ctx any, conn net.Conn, buf []byte) error {
	return w.ReadTimeout(ctx, conn, buf, time.Time{})
}

// ReadTimeout is Read with a deadline, after which it completes with
// ErrDeadline. The zero time is no deadline.
func (w *Watcher) ReadTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	if len(buf) == 0 {
		return w.driver.Submit(conn, op.Request{Kind: op.ReadLeased, Ctx: ctx, Deadline: deadline})
	}
	return w.driver.Submit(conn, op.Request{Kind: op.ReadSome, Ctx: ctx, Buf: buf, Deadline: deadline})
}

// ReadFull is ReadTimeout that completes when buf is full, or with an error:
// OpResult.Size then says how many bytes had come. The end of the stream is
// io.EOF, also in the middle. An empty buf is ErrEmptyBuffer.
func (w *Watcher) ReadFull(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	if len(buf) == 0 {
		return ErrEmptyBuffer
	}
	return w.driver.Submit(conn, op.Request{Kind: op.ReadFull, Ctx: ctx, Buf: buf, Deadline: deadline})
}

// ReadContext is Read that ends when cancel is done, and completes with its
// cause (context.Cause) then. It costs an allocation or two.
func (w *Watcher) ReadContext(cancel context.Context, ctx any, conn net.Conn, buf []byte) error {
	kind := op.ReadSome
	if len(buf) == 0 {
		kind = op.ReadLeased
	}
	return w.driver.Submit(conn, op.Request{Kind: kind, Ctx: ctx, Buf: buf, Cancel: cancel})
}

// ReadBuf submits a read of at most n bytes into counted memory, which
// completes as soon as some have come; n 0 leaves the size to the watcher.
// Memory is taken when there are bytes, and not before. OpResult.Buf is retained:
// the caller of WaitIO releases it. Bufs that were read in one WaitIO may
// share a block; one that is kept for long is better compacted (mem.Buf.Compact).
//
// With an allocator that has a budget the completion may carry mem.ErrBudget:
// what has come stays for the next read, which can be submitted when memory is
// free; the Std driver holds the connection until then, or until Free. It panics
// when n is negative.
func (w *Watcher) ReadBuf(ctx any, conn net.Conn, n int, deadline time.Time) error {
	if n < 0 {
		panic("aio: ReadBuf of a negative number of bytes")
	}
	return w.driver.Submit(conn, op.Request{Kind: op.ReadCounted, Ctx: ctx, Size: n, Deadline: deadline})
}

// Write submits a write of buf, which completes when all of it is written. buf
// is the watcher's until the completion and must not be changed meanwhile. It may
// be, or be cut from, what a read without a buffer on the same watcher has returned and is
// still borrowed: the watcher keeps it then for as long as the write takes. What another
// watcher has lent is to be copied, or read by ReadBuf. A nil or empty buf is
// ErrEmptyBuffer.
//
// An error of Write itself means that nothing was submitted: ErrWatcherClosed; and,
// unless Options.ErrorsComplete is set, ErrConnClosed, ErrUnsupported, or
// ErrQueueFull when Options.QueueLimit is set.
func (w *Watcher) Write(ctx any, conn net.Conn, buf []byte) error {
	return w.WriteTimeout(ctx, conn, buf, time.Time{})
}

// WriteTimeout is Write with a deadline, after which it completes with
// ErrDeadline; OpResult.Size says how much had been written by then, and the
// writes behind it go on. The zero time is no deadline.
func (w *Watcher) WriteTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	if len(buf) == 0 {
		return ErrEmptyBuffer
	}
	return w.write(conn, op.Request{Kind: op.WriteBytes, Ctx: ctx, Buf: buf, Deadline: deadline})
}

// WriteContext is Write that ends when cancel is done, and completes with its
// cause (context.Cause) then. It costs an allocation or two.
func (w *Watcher) WriteContext(cancel context.Context, ctx any, conn net.Conn, buf []byte) error {
	if len(buf) == 0 {
		return ErrEmptyBuffer
	}
	return w.write(conn, op.Request{Kind: op.WriteBytes, Ctx: ctx, Buf: buf, Cancel: cancel})
}

// WriteBuf submits a write of b, which is transferred: it is released when the
// write completes, in whatever way, and also when WriteBuf returns an error. An
// empty Buf is ErrEmptyBuffer. What waits on one connection is gathered into as
// few calls of writev as it takes. The zero deadline is none.
func (w *Watcher) WriteBuf(ctx any, conn net.Conn, b mem.Buf, deadline time.Time) error {
	if isEmpty(b) {
		return ErrEmptyBuffer
	}
	return w.write(conn, op.Request{Kind: op.WriteBuf, Ctx: ctx, Single: b, Deadline: deadline}) //sluice:moved
}

// isEmpty reports whether there is nothing to write in b, which is released then; the zero Buf is
// empty, too. One that was released panics.
func isEmpty(b mem.Buf) bool {
	if b == (mem.Buf{}) {
		return true
	}
	if b.Len() > 0 {
		return false
	}
	b.Release()
	return true
}

// WriteMemory is WriteBuf for a Memory: its parts go out in order, gathered,
// and it is transferred. Over UDP, and other sockets of messages, it is one message. A nil
// or empty one is ErrEmptyBuffer.
func (w *Watcher) WriteMemory(ctx any, conn net.Conn, m *mem.Memory, deadline time.Time) error {
	if m == nil {
		return ErrEmptyBuffer
	}
	if m.Size == 0 {
		m.Release()
		return ErrEmptyBuffer
	}
	return w.write(conn, op.Request{Kind: op.WriteMemory, Ctx: ctx, Memory: m, Deadline: deadline})
}

// write submits a write, a quiet one if the watcher's are.
func (w *Watcher) write(conn net.Conn, r op.Request) error {
	r.Quiet = w.quiet
	r.Lent = w.quiet && r.Kind == op.WriteBytes
	return w.driver.Submit(conn, r)
}
