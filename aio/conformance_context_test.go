package aio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
)

func init() {
	suite = append(suite,
		behaviour{name: "a context that is done already", run: cancelledBefore, on: everyConn},
		behaviour{name: "a context that is done already, and bytes wait", run: cancelledBeforeBytes, on: everyConn},
		behaviour{name: "a context that is cancelled ends a read", run: cancelledRead, on: everyConn},
		behaviour{name: "a context that is cancelled ends a write in the middle", run: cancelledWrite},
		behaviour{name: "a context that is cancelled ends a write in the queue", run: cancelledQueuedWrite},
		behaviour{name: "a context that is cancelled too late", run: cancelledAfter, on: everyConn},
		behaviour{name: "a context with a deadline of its own", run: contextDeadline},
		behaviour{name: "what is over leaves nothing with its context and deadline", run: nothingLeftBehind},
		behaviour{name: "a context that is cancelled when bytes come", run: cancelRacesWithData, on: append(streams, "pipe")},
	)
}

var errWhy = errors.New("the program has lost interest")

func (f *fixture) readContext(ctx context.Context, conn net.Conn, n int) *op {
	f.Helper()
	o := &op{name: "ReadContext", conn: conn, timed: true, swap: n == 0}
	if n > 0 {
		o.buf = make([]byte, n)
	}
	return f.must(o, func() error { return f.w.ReadContext(ctx, o, conn, o.buf) })
}

func (f *fixture) writeContext(ctx context.Context, conn net.Conn, data []byte) *op {
	f.Helper()
	o := f.newWrite(conn, "WriteContext", slices.Clone(data))
	o.timed = true
	return f.must(o, func() error { return f.w.WriteContext(ctx, o, conn, o.buf) })
}

// wantCause checks that the very cause comes back, and that errors.Is is not
// needed to see it.
func (f *fixture) wantCause(o *op) {
	f.Helper()
	if f.wantError(o, errWhy); o.res.Error != errWhy {
		f.Errorf("%v: the cause came back as %T %v", o, o.res.Error, o.res.Error)
	}
}

func cancelledBefore(f *fixture) {
	near, far := f.pair()
	ctx, cancel := context.WithCancelCause(f.Context())
	cancel(errWhy)
	ops := []*op{f.readContext(ctx, near, 10), f.readContext(ctx, near, 0)}
	f.wait(ops...)
	for _, o := range ops {
		if f.wantCause(o); o.res.Size != 0 {
			f.Errorf("%v: %d bytes of nothing", o, o.res.Size)
		}
	}
	// The connection has not suffered.
	f.send(far, []byte("alive"))
	if got := f.collect(5, func(left int) *op { return f.read(near, left) }); string(got) != "alive" {
		f.Errorf("%q was read", got)
	}
}

// cancelledBeforeBytes: what was cancelled before it was submitted takes no byte from the
// connection and gives it none.
func cancelledBeforeBytes(f *fixture) {
	near, far := f.pair()
	ctx, cancel := context.WithCancelCause(f.Context())
	cancel(errWhy)
	f.send(far, []byte("here"))
	for range 20 {
		ops := []*op{f.readContext(ctx, near, 10), f.readContext(ctx, near, 0), f.writeContext(ctx, near, []byte("no"))}
		f.wait(ops...)
		for _, o := range ops {
			if f.wantCause(o); o.res.Size != 0 {
				f.Fatalf("%v: %d bytes", o, o.res.Size)
			}
		}
	}
	w := f.write(near, []byte("yes"))
	f.receive(far, []byte("yes"))
	f.wait(w)
	f.wantError(w, nil)
	if got := f.collect(4, func(left int) *op { return f.read(near, left) }); string(got) != "here" {
		f.Errorf("%q was read", got)
	}
}

func cancelledRead(f *fixture) {
	near, far := f.pair()
	ctx, cancel := context.WithCancelCause(f.Context())
	defer cancel(nil)
	before := f.read(near, 5)
	ops := []*op{f.readContext(ctx, near, 10), f.readContext(ctx, near, 0)}
	f.park()
	cancel(errWhy)
	f.wait(ops...)
	for _, o := range ops {
		f.wantCause(o)
	}
	if before.done {
		f.Fatalf("a context ended another operation: %v", before.res.Error)
	}
	// And the one that is first in the queue, which may be under way.
	again, cancelAgain := context.WithCancelCause(f.Context())
	defer cancelAgain(nil)
	other, _ := f.pair()
	o := f.readContext(again, other, 10)
	f.park()
	cancelAgain(errWhy)
	f.wait(o)
	f.wantCause(o)

	f.send(far, []byte("alive"))
	f.wait(before)
	got := bytes.Clone(before.bytes())
	got = append(got, f.collect(5-len(got), func(left int) *op { return f.read(near, left) })...)
	if string(got) != "alive" {
		f.Errorf("%q was read", got)
	}
}

func cancelledWrite(f *fixture) {
	near, far := f.narrowPair()
	ctx, cancel := context.WithCancelCause(f.Context())
	defer cancel(nil)
	first, second := f.bytes(tooMuch), f.bytes(1000)
	a := f.writeContext(ctx, near, first)
	b := f.write(near, second)
	f.park()
	f.receiveAll(far, first[:1]) // a driver with goroutines may not have begun before
	cancel(errWhy)
	f.wait(a)
	f.wantCause(a)
	if a.res.Size <= 0 || a.res.Size >= tooMuch {
		f.Fatalf("%d bytes of %d were out, want some", a.res.Size, tooMuch)
	}
	f.receive(far, append(first[1:a.res.Size:a.res.Size], second...))
	f.wait(b)
	f.wantError(b, nil)
}

func cancelledQueuedWrite(f *fixture) {
	near, far := f.narrowPair()
	ctx, cancel := context.WithCancelCause(f.Context())
	defer cancel(nil)
	first, last := f.bytes(tooMuch), f.bytes(1000)
	a := f.write(near, first)
	queued := f.writeContext(ctx, near, f.bytes(1000))
	z := f.write(near, last)
	cancel(errWhy)
	f.wait(queued)
	if f.wantCause(queued); queued.res.Size != 0 {
		f.Errorf("%d bytes of a write in the queue, none can be out", queued.res.Size)
	}
	f.receive(far, append(first, last...))
	f.wait(a, z)
	f.wantError(a, nil)
	f.wantError(z, nil)
}

func cancelledAfter(f *fixture) {
	near, far := f.pair()
	ctx, cancel := context.WithCancelCause(f.Context())
	f.send(far, []byte{1})
	r, w := f.readContext(ctx, near, 1), f.writeContext(ctx, near, []byte{2})
	f.receive(far, []byte{2})
	f.wait(r, w)
	f.wantError(r, nil)
	f.wantError(w, nil)
	// The books notice a second completion; another operation is not to be hit.
	next := f.read(near, 10)
	cancel(errWhy)
	f.send(far, []byte{3})
	f.wait(next)
	f.wantError(next, nil)
}

func contextDeadline(f *fixture) {
	near, _ := f.pair()
	ctx, cancel := context.WithTimeout(f.Context(), soon)
	defer cancel()
	o := f.readContext(ctx, near, 10)
	f.wait(o)
	f.wantError(o, context.DeadlineExceeded)
}

// nothingLeftBehind has thousands of operations complete before their deadline,
// under a context that goes on. What each leaves behind adds up.
func nothingLeftBehind(f *fixture) {
	const n, most = 20_000, 300 << 10
	near, far := f.pair()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	long, cancel := context.WithCancel(f.Context())
	defer cancel()
	buf := []byte{1}
	deadline := never()
	round := func(n int) {
		for i := range n {
			var err error
			if i%4 == 0 {
				err = f.w.WriteContext(long, nil, near, buf)
			} else {
				err = f.w.WriteTimeout(nil, near, buf, deadline)
			}
			if err != nil {
				f.Fatal(err)
			}
			if _, err := f.next(); err != nil {
				f.Fatal(err)
			}
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	round(100)
	before := heap()
	round(n)
	if more := heap() - before; more > most {
		f.Errorf("%d operations that are over have left %d bytes behind", n, more)
	}
}

// cancelRacesWithData: the operation completes once, and the byte comes once.
func cancelRacesWithData(f *fixture) {
	near, far := f.pair()
	var got []byte
	const rounds = 100
	for i := range rounds {
		ctx, cancel := context.WithCancelCause(f.Context())
		o := f.readContext(ctx, near, i%3)
		if i%2 == 0 {
			f.park()
		}
		var both sync.WaitGroup
		both.Go(func() { cancel(errWhy) })
		// A pipe hands the byte over when it is read, maybe in a later round.
		if f.network == "pipe" {
			f.send(far, []byte{byte(i)})
		} else {
			both.Go(func() { _, _ = far.Write([]byte{byte(i)}) })
		}
		f.wait(o)
		both.Wait()
		f.wantError(o, nil, errWhy)
		got = append(got, o.bytes()...)
		if o.res.Error == nil && o.res.Size == 0 || o.res.Error != nil && o.res.Size != 0 {
			f.Fatalf("%d bytes with %v", o.res.Size, o.res.Error)
		}
		got = append(got, f.collect(i+1-len(got), func(int) *op { return f.read(near, 1) })...)
		cancel(nil)
	}
	for i, b := range got {
		if b != byte(i) {
			f.Fatalf("byte %d came as %d", i, b)
		}
	}
}
