package aio_test

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

func init() {
	suite = append(suite,
		behaviour{name: "a Memory of many parts goes out in order", run: manyParts, on: everyConn},
		behaviour{name: "what waits is gathered", run: gathered, needs: gathers},
		behaviour{name: "what is transferred is released once, written", run: releasedWritten},
		behaviour{name: "what is transferred is released once, freed", run: releasedFreed},
		behaviour{name: "what is transferred is released once, closed", run: releasedClosed},
		behaviour{name: "what is transferred is released once, too late", run: releasedLate},
		behaviour{name: "what is transferred is released once, the peer gone", run: releasedPeerGone},
	)
}

// manyParts has more parts than one system call takes, of sizes so that partial
// writes end within them, and writes of other kinds before and behind.
func manyParts(f *fixture) {
	for _, parts := range []struct{ n, size int }{{1, 10}, {1024, 3}, {1025, 700}, {4000, 500}, {3, 700_000}} {
		near, far := f.narrowPair()
		data := f.bytes(parts.n * parts.size)
		received := f.receive(far, append(append([]byte("head"), data...), "tail"...))
		ops := []*op{
			f.write(near, []byte("head")),
			f.writeMemory(near, f.memoryOf(data, parts.size), time.Time{}),
			f.write(near, []byte("tail")),
		}
		f.wait(ops...)
		for _, o := range ops {
			f.wantError(o, nil)
		}
		if size := ops[1].res.Size; size != len(data) {
			f.Errorf("a Memory of %d bytes was written as %d", len(data), size)
		}
		<-received
	}
}

// gathered queues small writes behind a large one.
func gathered(f *fixture) {
	const n = 500
	near, far := f.narrowPair()
	all := f.bytes(tooMuch)
	ops := []*op{f.write(near, all)}
	for range n {
		data := f.bytes(50)
		all = append(all, data...)
		ops = append(ops, f.anyWrite(near, data))
	}
	before := f.w.Stats().WriteCalls
	received := f.receive(far, all)
	f.wait(ops...)
	<-received
	// Besides those that the large one takes.
	if calls := f.w.Stats().WriteCalls - before; calls > n/2 {
		f.Errorf("%d writes that waited took %d system calls", n, calls)
	}
}

// A toll counts how often what was transferred is released.
type toll struct {
	made, released atomic.Int32
}

func (c *toll) buf(data []byte) mem.Buf {
	c.made.Add(1)
	freed := new(atomic.Bool)
	return mem.Wrap(data, func() {
		if freed.Swap(true) {
			panic("released twice")
		}
		c.released.Add(1)
	})
}

func (c *toll) memory(f *fixture, parts, size int) *mem.Memory {
	m := mem.NewMemory()
	for range parts {
		m.Append(c.buf(f.bytes(size)))
	}
	return m
}

// want checks that all is released when the completions have been returned.
func (c *toll) want(f *fixture) {
	f.Helper()
	if made, released := c.made.Load(), c.released.Load(); made != released {
		f.Errorf("%d of %d references were released", released, made)
	}
}

// queueTransfers submits writes that cannot all go out.
func (f *fixture) queueTransfers(c *toll, deadline time.Time) (ops []*op, far io.Reader) {
	f.Helper()
	near, peer := f.narrowPair()
	return []*op{
		f.writeBuf(near, c.buf(f.bytes(10)), deadline),
		f.writeMemory(near, c.memory(f, 2000, tooMuch/2000), deadline),
		f.writeBuf(near, c.buf(f.bytes(1000)), deadline),
		f.writeMemory(near, c.memory(f, 10, 10), deadline),
	}, peer
}

func releasedWritten(f *fixture) {
	var c toll
	ops, far := f.queueTransfers(&c, time.Time{})
	f.background("the peer reads", func() error {
		_, err := io.CopyN(io.Discard, far, int64(10+tooMuch/2000*2000+1000+100))
		return err
	})
	f.wait(ops...)
	c.want(f)
}

func releasedFreed(f *fixture) {
	var c toll
	ops, _ := f.queueTransfers(&c, time.Time{})
	f.free(ops[0].conn)
	f.wait(ops...)
	f.wantError(ops[3], io.ErrClosedPipe)
	c.want(f)
	// And what comes too late.
	if err := f.w.WriteMemory(nil, ops[0].conn, c.memory(f, 3, 3), time.Time{}); !errors.Is(err, aio.ErrConnClosed) {
		f.Errorf("WriteMemory after Free: %v", err)
	}
	c.want(f)
}

func releasedClosed(f *fixture) {
	var c toll
	var all []*op
	for range 3 {
		ops, _ := f.queueTransfers(&c, time.Time{})
		all = append(all, ops...)
	}
	_ = f.w.Close()
	f.wait(all...)
	c.want(f)
	if err := f.w.WriteBuf(nil, all[0].conn, c.buf([]byte{1}), time.Time{}); !errors.Is(err, aio.ErrWatcherClosed) {
		f.Errorf("WriteBuf after Close: %v", err)
	}
	c.want(f)
}

func releasedLate(f *fixture) {
	var c toll
	ops, _ := f.queueTransfers(&c, time.Now().Add(soon))
	f.wait(ops...)
	f.wantError(ops[1], aio.ErrDeadline)
	f.wantError(ops[3], aio.ErrDeadline)
	c.want(f)
}

func releasedPeerGone(f *fixture) {
	var c toll
	ops, far := f.queueTransfers(&c, time.Time{})
	f.wait(ops[0])
	f.park()
	if err := far.(io.Closer).Close(); err != nil {
		f.Fatal(err)
	}
	f.wait(ops...)
	f.wantError(ops[1], resets...)
	f.wantError(ops[3], resets...)
	c.want(f)
}
