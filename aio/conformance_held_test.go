package aio_test

import (
	"errors"
	"net"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// Memory follows bytes: what a few bytes keep is small, and limits count it.

// heldLimit is the QueueLimit of these behaviours, in bytes.
const heldLimit = tooMuch + 64<<10

func init() {
	plain := func(o *aio.Options) { o.Allocator = mem.New(mem.Options{Name: "conformance"}) }
	limited := func(o *aio.Options) { plain(o); o.QueueLimit = heldLimit }
	tight := func(o *aio.Options) {
		o.Allocator = mem.New(mem.Options{Name: "conformance", Budget: 1 << 20})
	}
	suite = append(suite,
		behaviour{name: "a few bytes that are kept hold little", run: fewBytesKept, options: plain},
		behaviour{name: "a few bytes that wait for the peer hold little", run: fewBytesQueued, options: plain, on: onlyTCP},
		behaviour{name: "a budget counts what is held", run: fewBytesBudget, options: tight},
		behaviour{name: "QueueLimit counts what a Buf holds", run: limitCounts(writeSmallBuf), options: limited, on: onlyTCP},
		behaviour{name: "QueueLimit counts what a Memory holds", run: limitCounts(writeSmallMemory), options: limited, on: onlyTCP},
		behaviour{name: "QueueLimit counts what is borrowed", run: limitCountsBorrowed, options: limited, on: onlyTCP},
		behaviour{name: "a large Buf is not copied to wait", run: largeBufStays, options: plain, on: onlyTCP},
	)
}

const fewBytes, mostForFew = 3, 4 << 10

// wantHeld checks what is checked out of the allocator.
func (f *fixture) wantHeld(what string, most int64) {
	f.Helper()
	if out := f.alloc.Stats().OutBytes; out > most {
		f.Errorf("%s: %d bytes are checked out, want %d at most", what, out, most)
	}
}

// fewBytesKept reads a few bytes from each of many connections, one WaitIO for
// each, and keeps them.
func fewBytesKept(f *fixture) {
	const n = 100
	near, far := f.pairs(n)
	var kept []*op
	for i := range n {
		f.sendAll(far[i], f.bytes(fewBytes))
		o := f.readBuf(near[i], 0, time.Time{})
		f.wait(o)
		f.wantError(o, nil)
		kept = append(kept, o)
		f.park() // the watcher holds nothing for itself
		f.interrupt()
	}
	f.wantHeld("a few bytes of each connection are kept", n*mostForFew)
	for _, o := range kept {
		o.take()
	}
}

// interrupt ends the WaitIO that park has begun.
func (f *fixture) interrupt() {
	f.Helper()
	f.wait(f.readTimeout(f.idleConn(), 1, time.Now()))
}

// fewBytesQueued sends back what reads without a buffer return, to peers that
// take nothing.
func fewBytesQueued(f *fixture) {
	const n = 30
	for range n {
		near, far := f.stalledPair()
		f.writeBorrowed(near, far, near)
		f.interrupt()
		f.interrupt()
	}
	if s := f.w.Stats(); s.Pending < 2*n {
		f.Fatalf("%d operations wait for peers that take nothing, want %d", s.Pending, 2*n)
	}
	f.wantHeld("a few bytes wait for each connection", n*mostForFew)
}

// writeBorrowed reads a few bytes into memory of the watcher, and writes them to
// another connection.
func (f *fixture) writeBorrowed(from, farFrom, to net.Conn) {
	f.Helper()
	f.sendAll(farFrom, f.bytes(fewBytes))
	if err := f.w.Read("borrowed", from, nil); err != nil {
		f.Fatal(err)
	}
	results, err := f.next()
	if err != nil || len(results) != 1 || results[0].Context != "borrowed" {
		f.Fatalf("%d results, %v", len(results), err)
	}
	if err := f.w.Write(nil, to, results[0].Buffer); err != nil {
		f.Fatal(err)
	}
}

// stalledPair is a narrow pair with a write on its way that the peer does not take.
func (f *fixture) stalledPair() (near, far net.Conn) {
	f.Helper()
	near, far = f.narrowPair()
	if err := f.w.Write(nil, near, f.bytes(tooMuch)); err != nil {
		f.Fatal(err)
	}
	return near, far
}

// fewBytesBudget keeps a few bytes of each of more reads than the budget has
// blocks of the size that the watcher reads into.
func fewBytesBudget(f *fixture) {
	const reads = 100
	near, far := f.pair()
	var kept []*op
	for range reads {
		f.sendAll(far, f.bytes(fewBytes))
		o := f.readBuf(near, 0, time.Time{})
		f.wait(o)
		f.wantError(o, nil)
		kept = append(kept, o)
		f.park()
		f.interrupt()
	}
	for _, o := range kept {
		o.take()
	}
}

// smallBuf is a few bytes of a large block.
func smallBuf(f *fixture) mem.Buf {
	b := f.alloc.Get(64 << 10)
	defer b.Release()
	return b.RetainedSlice(1000, 1000+fewBytes)
}

func smallMemory(f *fixture) *mem.Memory {
	m := mem.NewMemory()
	for range 5 {
		m.Append(smallBuf(f))
	}
	return m
}

// limitCounts has writes of few bytes in large blocks wait, until one is refused.
func limitCounts(write func(*fixture, net.Conn) error) func(*fixture) {
	return func(f *fixture) {
		near, _ := f.stalledPair()
		for refused := false; !refused && !f.Failed(); {
			err := write(f, near)
			refused = errors.Is(err, aio.ErrQueueFull)
			if err != nil && !refused {
				f.Fatal(err)
			}
			f.wantHeld("few bytes in large blocks wait", heldLimit)
			if held := f.w.Stats().QueuedHeld; held > heldLimit {
				f.Errorf("the queue holds %d, its limit is %d", held, heldLimit)
			}
		}
	}
}

func writeSmallBuf(f *fixture, conn net.Conn) error {
	return f.w.WriteBuf(nil, conn, smallBuf(f), time.Time{})
}

func writeSmallMemory(f *fixture, conn net.Conn) error {
	return f.w.WriteMemory(nil, conn, smallMemory(f), time.Time{})
}

func limitCountsBorrowed(f *fixture) {
	near, _ := f.stalledPair()
	from, farFrom := f.pair()
	for range 200 {
		f.writeBorrowed(from, farFrom, near)
	}
	f.wantHeld("few bytes that were borrowed wait", heldLimit)
}

// largeBufStays has most of a large block wait for several peers, who share it.
func largeBufStays(f *fixture) {
	const block = 64 << 10
	b := f.alloc.Get(block)
	for range 5 {
		near, _ := f.stalledPair()
		if err := f.w.WriteBuf(nil, near, b.RetainedSlice(0, block/4), time.Time{}); err != nil {
			f.Fatal(err)
		}
	}
	b.Release()
	f.wantHeld("five writes share a block", block)
}
