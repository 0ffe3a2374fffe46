package aio_test

import (
	"net"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

func init() {
	plain := func(o *aio.Options) { o.Allocator = mem.New(mem.Options{Name: "conformance"}) }
	limited := func(o *aio.Options) { o.QueueLimit = limit }
	closes := func(o *aio.Options) { o.QueueLimit, o.QueuePolicy = limit, aio.QueueClose }
	suite = append(suite,
		behaviour{name: "WriteMany writes to all", run: manyWritten, on: everyConn},
		behaviour{name: "WriteMany shares what waits", run: manyShared, options: plain, on: onlyTCP},
		behaviour{name: "WriteMany within a limit skips", run: manySlow(aio.SlowQueue, false), options: limited},
		behaviour{name: "WriteMany within a limit closes", run: manySlow(aio.SlowQueue, true), options: closes},
		behaviour{name: "WriteMany skips slow connections", run: manySlow(aio.SlowSkip, false)},
		behaviour{name: "WriteMany closes slow connections", run: manySlow(aio.SlowClose, true)},
		behaviour{name: "WriteMany reports failures", run: manyFailures, on: onlyTCP},
	)
}

// many has so many bytes sent to all of conns.
func (f *fixture) many(conns []net.Conn, data []byte, slow aio.SlowPolicy) aio.Spread {
	f.Helper()
	s, err := f.w.WriteMany("many", conns, f.bufOf(data), slow)
	if err != nil {
		f.Fatal(err)
	}
	if sum := s.Written + s.Queued + s.Skipped + s.Closed + s.Failed; sum != len(conns) {
		f.Errorf("%+v: that is %d connections, want %d", s, sum, len(conns))
	}
	return s
}

// quietly waits until n quiet writes of size bytes have ended, and enters them into
// the books, since they have no completion.
func (f *fixture) quietly(n, size int) {
	f.Helper()
	want := f.sums.writes + uint64(n)
	f.loop.start()
	f.eventually("the writes are out", func() bool { return f.w.Stats().Writes >= want })
	f.sums.writes = want
	f.sums.bytesWritten += uint64(n * size)
}

func manyWritten(f *fixture) {
	const n, size, rounds = 10, 5000, 20
	near, far := f.pairs(n)
	var all []byte
	var frames [][]byte
	for range rounds {
		frames = append(frames, f.bytes(size))
		all = append(all, frames[len(frames)-1]...)
	}
	for i := range n {
		f.receive(far[i], all)
	}
	for _, frame := range frames {
		if s := f.many(near, frame, aio.SlowQueue); s.Written+s.Queued != n {
			f.Fatalf("%+v, want all of %d to take it", s, n)
		}
	}
	f.quietly(n*rounds, size)
	if _, err := f.w.WriteMany(nil, near, f.alloc.Get(0), aio.SlowQueue); err != aio.ErrEmptyBuffer {
		f.Errorf("nothing to write: %v, want ErrEmptyBuffer", err)
	}
	if _, err := f.w.WriteMany(nil, near, mem.Buf{}, aio.SlowQueue); err != aio.ErrEmptyBuffer {
		f.Errorf("the zero Buf: %v, want ErrEmptyBuffer", err)
	}
	if err := f.w.Close(); err != nil {
		f.Fatal(err)
	}
	if _, err := f.w.WriteMany(nil, near, f.bufOf(all), aio.SlowQueue); err != aio.ErrWatcherClosed {
		f.Errorf("after Close: %v, want ErrWatcherClosed", err)
	}
}

// manyShared has a small part of a large block wait for several connections: it is
// copied once.
func manyShared(f *fixture) {
	const n, block = 10, 64 << 10
	var near []net.Conn
	for range n {
		c, _ := f.stalledPair()
		near = append(near, c)
	}
	whole := f.alloc.Get(block)
	part := whole.RetainedSlice(100, 1100)
	whole.Release()
	if s, err := f.w.WriteMany(nil, near, part, aio.SlowQueue); err != nil || s.Queued != n {
		f.Errorf("%+v, %v, want all of %d to wait", s, err, n)
	}
	f.wantHeld("one write waits for all", 2<<10)
}

// manySlow has one connection that takes nothing among others that do.
func manySlow(slow aio.SlowPolicy, closes bool) func(*fixture) {
	return func(f *fixture) {
		const n, size = 4, 1000
		stuck, farOfStuck := f.narrowPair()
		large := f.bytes(tooMuch)
		before := f.write(stuck, large)
		near, far := f.pairs(n)
		frame := f.bytes(size)
		for i := range n {
			f.receive(far[i], frame)
		}
		s := f.many(append(near, stuck), frame, slow)
		if s.Written+s.Queued != n || closes && s.Closed != 1 || !closes && s.Skipped != 1 {
			f.Fatalf("%+v, want one slow connection of %d", s, n+1)
		}
		if closes {
			f.wait(before)
			f.wantError(before, aio.ErrQueueFull)
			f.quietly(n, size)
			f.wantCut(farOfStuck, tooMuch)
			return
		}
		f.quietly(n, size)
		f.receive(farOfStuck, large)
		f.wait(before)
		f.wantError(before, nil)
	}
}

func manyFailures(f *fixture) {
	good, far := f.pair()
	freed, _ := f.pair()
	r := f.read(freed, 1)
	f.free(freed)
	f.wait(r)
	broken := unhashableConn{good.(*net.TCPConn), nil}
	received := f.receive(far, []byte("frame"))
	if s := f.many([]net.Conn{freed, good, broken}, []byte("frame"), aio.SlowSkip); s.Failed != 2 || s.Written+s.Queued != 1 {
		f.Errorf("%+v, want two that failed", s)
	}
	failed := 0
	for failed < 2 {
		results, err := f.next()
		if err != nil {
			f.Fatal(err)
		}
		for i := range results {
			r := &results[i]
			if r.Context != "many" || r.Operation != aio.OpWrite || r.Error == nil || r.Size != 0 || r.Buffer != nil {
				f.Errorf("%+v, want a write that failed", *r)
			}
			failed++
		}
	}
	<-received
	f.quietly(1, 5)
}
