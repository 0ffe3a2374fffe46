package std

import (
	"context"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// watcher has the submissions of aio.Watcher, as far as the tests need them.
type watcher struct{ *Driver }

func (w watcher) WaitIO() ([]op.Result, error) { return w.Wait() }
func (w watcher) Close() error                 { w.Driver.Close(); return nil }
func (w watcher) Free(c net.Conn) error        { return w.CloseConn(c) }
func (w watcher) Stats() op.Counters           { return w.Counters() }

func (w watcher) Read(ctx any, conn net.Conn, buf []byte) error {
	return w.ReadTimeout(ctx, conn, buf, time.Time{})
}

func (w watcher) ReadTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	kind := op.ReadSome
	if len(buf) == 0 {
		kind = op.ReadLeased
	}
	return w.Submit(conn, op.Request{Kind: kind, Ctx: ctx, Buf: buf, Deadline: deadline})
}

func (w watcher) ReadFull(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.Submit(conn, op.Request{Kind: op.ReadFull, Ctx: ctx, Buf: buf, Deadline: deadline})
}

func (w watcher) ReadContext(cancel context.Context, ctx any, conn net.Conn, buf []byte) error {
	kind := op.ReadSome
	if len(buf) == 0 {
		kind = op.ReadLeased
	}
	return w.Submit(conn, op.Request{Kind: kind, Ctx: ctx, Buf: buf, Cancel: cancel})
}

func (w watcher) ReadBuf(ctx any, conn net.Conn, n int, deadline time.Time) error {
	return w.Submit(conn, op.Request{Kind: op.ReadCounted, Ctx: ctx, Size: n, Deadline: deadline})
}

func (w watcher) Write(ctx any, conn net.Conn, buf []byte) error {
	return w.WriteTimeout(ctx, conn, buf, time.Time{})
}

func (w watcher) WriteTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	return w.Submit(conn, op.Request{Kind: op.WriteBytes, Ctx: ctx, Buf: buf, Deadline: deadline})
}

func (w watcher) WriteContext(cancel context.Context, ctx any, conn net.Conn, buf []byte) error {
	return w.Submit(conn, op.Request{Kind: op.WriteBytes, Ctx: ctx, Buf: buf, Cancel: cancel})
}

func (w watcher) WriteBuf(ctx any, conn net.Conn, b mem.Buf, deadline time.Time) error {
	return w.Submit(conn, op.Request{Kind: op.WriteBuf, Ctx: ctx, Single: b, Deadline: deadline}) //sluice:moved
}

func (w watcher) WriteMemory(ctx any, conn net.Conn, m *mem.Memory, deadline time.Time) error {
	return w.Submit(conn, op.Request{Kind: op.WriteMemory, Ctx: ctx, Memory: m, Deadline: deadline})
}
