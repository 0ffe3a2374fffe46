package aio_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	suite = append(suite,
		behaviour{name: "Free ends what is in flight", run: freeEnds, on: everyConn},
		behaviour{name: "Free while WaitIO sleeps", run: freeWhileParked, on: everyConn},
		behaviour{name: "Free of what was freed, of nil, of what is new", run: freeOddities, on: append(streams, "pipe")},
		behaviour{name: "Free races with operations", run: freeRaces},
		behaviour{name: "submitting after Free", run: submitAfterFree, on: everyConn},
		behaviour{name: "submitting what the program has closed", run: submitClosedConn},
		behaviour{name: "Close ends what is in flight", run: closeEnds, on: everyConn},
		behaviour{name: "Close while WaitIO sleeps", run: closeWhileParked, on: everyConn},
		behaviour{name: "Close of a watcher that nobody used", run: closeUnused, on: onlyTCP},
		behaviour{name: "Close races with submissions", run: closeRaces},
		behaviour{name: "Close closes the connections", run: closeCloses, on: append(streams, "tls")},
		behaviour{name: "submitting after Close", run: submitAfterClose, on: everyConn},
	)
}

func (f *fixture) free(conn net.Conn) {
	f.Helper()
	if err := f.w.Free(conn); err != nil {
		f.Errorf("Free: %v", err)
	}
}

// inFlight submits operations of every kind that cannot complete.
func (f *fixture) inFlight(near net.Conn) []*op {
	f.Helper()
	ops := []*op{
		f.read(near, 100), f.readTimeout(near, 100, never()), f.readFull(near, 100, time.Time{}),
		f.readNil(near), f.readBuf(near, 100, time.Time{}), f.readFull(near, 100, never()),
		f.write(near, f.bytes(tooMuch)), f.writeTimeout(near, f.bytes(100), never()),
		f.writeBuf(near, f.bufOf(f.bytes(1000)), never()),
		f.writeMemory(near, f.memoryOf(f.bytes(1000), 100), time.Time{}),
	}
	for _, o := range ops {
		if o.done {
			f.Fatalf("%v completed: %v", o, o.res.Error)
		}
	}
	return ops
}

func (f *fixture) wantAllEnded(ops []*op, want error) {
	f.Helper()
	for _, o := range ops {
		f.wantError(o, want)
		if o.what == aio.OpRead && o.res.Size != 0 {
			f.Errorf("%v came back with %d bytes of nothing", o, o.res.Size)
		}
	}
}

func freeEnds(f *fixture) {
	near, far := f.narrowPair()
	other := f.readNil(f.idleConn())
	ops := f.inFlight(near)
	f.free(near)
	f.wait(ops...)
	f.wantAllEnded(ops, io.ErrClosedPipe)
	if other.done {
		f.Errorf("another connection's read ended: %v", other.res.Error)
	}
	f.wantCut(far, tooMuch)
}

func freeWhileParked(f *fixture) {
	near, _ := f.narrowPair()
	ops := f.inFlight(near)
	f.park()
	f.promptly("Free while WaitIO sleeps", func() { f.free(near) })
	f.wait(ops...)
	f.wantAllEnded(ops, io.ErrClosedPipe)
}

func freeOddities(f *fixture) {
	if err := f.w.Free(nil); !errors.Is(err, aio.ErrUnsupported) {
		f.Errorf("Free of nil: %v, want ErrUnsupported", err)
	}
	if err := errors.Join(f.w.Read(nil, nil, nil), nil); !errors.Is(err, aio.ErrUnsupported) {
		f.Errorf("Read of a nil connection: %v, want ErrUnsupported", err)
	}
	near, far := f.pair()
	o := f.read(near, 10)
	for range 3 {
		f.free(near)
	}
	f.wait(o)
	f.free(near)
	f.wantEOF(far)
	unknown, farOfUnknown := f.pair()
	f.free(unknown)
	f.wantEOF(farOfUnknown)
	if _, err := unknown.Write([]byte{1}); err == nil {
		f.Error("a connection that was freed and never submitted can be written to")
	}
	f.free(unknown)
}

// freeRaces frees connections from other goroutines while they are busy.
func freeRaces(f *fixture) {
	const n = 30
	near, far := f.pairs(n)
	for i := range n {
		go func() { _, _ = io.Copy(far[i], far[i]) }()
	}
	var ops []*op
	for i := range n {
		for range 4 {
			ops = append(ops, f.anyRead(near[i], 4096), f.anyWrite(near[i], f.bytes(10_000)))
		}
	}
	var freed sync.WaitGroup
	for i := range n {
		freed.Go(func() { f.free(near[i]) })
		if i%3 == 0 {
			freed.Go(func() { f.free(near[i]) })
		}
	}
	f.wait(ops...)
	for _, o := range ops {
		f.wantError(o, nil, io.ErrClosedPipe)
		o.take()
	}
	freed.Wait()
	if s := f.w.Stats(); s.Conns != 0 || s.Freed != n {
		f.Errorf("all %d connections freed: Conns %d, Freed %d", n, s.Conns, s.Freed)
	}
}

// wantRefused checks that a connection or a watcher takes nothing any more, and
// that what is transferred is released all the same.
func (f *fixture) wantRefused(conn net.Conn, want error) {
	f.Helper()
	before := len(f.alloc.Leaks())
	buf := make([]byte, 10)
	for name, submit := range map[string]func() error{
		"Read":                  func() error { return f.w.Read(nil, conn, buf) },
		"Read without a buffer": func() error { return f.w.Read(nil, conn, nil) },
		"ReadTimeout":           func() error { return f.w.ReadTimeout(nil, conn, buf, never()) },
		"ReadFull":              func() error { return f.w.ReadFull(nil, conn, buf, time.Time{}) },
		"ReadContext":           func() error { return f.w.ReadContext(f.Context(), nil, conn, buf) },
		"ReadBuf":               func() error { return f.w.ReadBuf(nil, conn, 10, time.Time{}) },
		"Write":                 func() error { return f.w.Write(nil, conn, buf) },
		"WriteTimeout":          func() error { return f.w.WriteTimeout(nil, conn, buf, never()) },
		"WriteContext":          func() error { return f.w.WriteContext(f.Context(), nil, conn, buf) },
		"WriteBuf":              func() error { return f.w.WriteBuf(nil, conn, f.bufOf(buf), time.Time{}) },
		"WriteMemory":           func() error { return f.w.WriteMemory(nil, conn, f.memoryOf(buf, 3), time.Time{}) },
	} {
		if err := submit(); !errors.Is(err, want) {
			f.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if left := len(f.alloc.Leaks()) - before; left > 0 {
		f.Errorf("%d references of refused writes were kept", left)
	}
}

func submitAfterFree(f *fixture) {
	near, _ := f.pair()
	o := f.read(near, 10)
	f.free(near)
	if f.network != "pipe" {
		f.wantRefused(near, aio.ErrConnClosed)
	}
	f.wait(o)
	f.wantError(o, io.ErrClosedPipe)
	if f.network != "pipe" {
		f.wantRefused(near, aio.ErrConnClosed)
		return
	}
	// Std cannot remember a connection of a type that it does not know without
	// keeping it alive: it finds out by trying.
	late := []*op{f.read(near, 10), f.write(near, []byte{1}), f.readBuf(near, 10, time.Time{}), f.writeBuf(near, f.bufOf([]byte{1}), never())}
	f.wait(late...)
	f.wantAllEnded(late, aio.ErrConnClosed)
}

// submitClosedConn: a driver that does not look at the descriptor finds out when
// it reads, and says the same then.
func submitClosedConn(f *fixture) {
	near, _ := f.pair()
	if err := near.Close(); err != nil {
		f.Fatal(err)
	}
	o := &op{name: "Read", conn: near, buf: make([]byte, 10)}
	err := f.submit(o, func() error { return f.w.Read(o, near, o.buf) })
	if err == nil {
		f.wait(o)
		err = o.res.Error
	}
	if !errors.Is(err, aio.ErrConnClosed) {
		f.Errorf("a read on a connection that the program had closed: %v, want ErrConnClosed", err)
	}
}

func closeEnds(f *fixture) {
	var all []*op
	for range 3 {
		near, _ := f.narrowPair()
		all = append(all, f.inFlight(near)...)
	}
	f.promptly("Close", func() { _ = f.w.Close() })
	results, err := f.next()
	if len(results) != len(all) || !errors.Is(err, aio.ErrWatcherClosed) {
		f.Errorf("the WaitIO after Close returned %d results of %d, and %v", len(results), len(all), err)
	}
	f.wait(all...)
	f.wantAllEnded(all, aio.ErrWatcherClosed)
	for range 3 {
		if r, err := f.next(); len(r) != 0 || !errors.Is(err, aio.ErrWatcherClosed) {
			f.Errorf("a later WaitIO returned %d results, and %v", len(r), err)
		}
	}
}

func closeWhileParked(f *fixture) {
	near, _ := f.narrowPair()
	ops := f.inFlight(near)
	f.park()
	f.promptly("Close while WaitIO sleeps", func() { _ = f.w.Close() })
	if _, err := f.join(); !errors.Is(err, aio.ErrWatcherClosed) {
		f.Errorf("the WaitIO that slept: %v", err)
	}
	f.wait(ops...)
	f.wantAllEnded(ops, aio.ErrWatcherClosed)
}

func closeUnused(f *fixture) {
	f.park()
	for range 3 {
		f.promptly("Close", func() {
			if err := f.w.Close(); err != nil {
				f.Error(err)
			}
		})
	}
	if r, err := f.join(); len(r) != 0 || !errors.Is(err, aio.ErrWatcherClosed) {
		f.Errorf("WaitIO of a closed watcher: %d results, %v", len(r), err)
	}
	unused, err := aio.NewWatcherOptions(aio.Options{Driver: f.driver})
	if err != nil {
		f.Fatal(err)
	}
	f.promptly("Close of a watcher on which nobody has waited", func() { _ = unused.Close() })
}

// closeRaces submits from many goroutines while the watcher is closed: each
// submission is refused, or completes.
func closeRaces(f *fixture) {
	const n = 8
	near, _ := f.pairs(n)
	var accepted [n][]*op
	var submitting sync.WaitGroup
	begun := make(chan struct{}, n)
	for i := range n {
		submitting.Go(func() {
			for j := range 10_000 {
				o := &op{name: "Read", conn: near[i], buf: make([]byte, 10)}
				if err := f.submit(o, func() error { return f.w.Read(o, near[i], o.buf) }); err != nil {
					if !errors.Is(err, aio.ErrWatcherClosed) {
						f.Errorf("a submission that met Close: %v", err)
					}
					return
				}
				accepted[i] = append(accepted[i], o)
				if j == 10 {
					begun <- struct{}{}
				}
			}
		})
	}
	f.park()
	for range n {
		<-begun
	}
	f.promptly("Close while others submit", func() { _ = f.w.Close() })
	submitting.Wait()
	for _, ops := range accepted {
		f.wait(ops...)
		f.wantAllEnded(ops, aio.ErrWatcherClosed)
	}
}

func closeCloses(f *fixture) {
	near, far := f.pairs(5)
	for i := range near {
		w := f.write(near[i], []byte{1})
		f.wait(w)
		f.receiveAll(far[i], []byte{1})
	}
	_ = f.w.Close()
	for i := range far {
		f.wantEOF(far[i])
	}
}

func submitAfterClose(f *fixture) {
	known, _ := f.pair()
	o := f.read(known, 10)
	_ = f.w.Close()
	f.wantRefused(known, aio.ErrWatcherClosed)
	f.wait(o)
	f.wantRefused(known, aio.ErrWatcherClosed)
	fresh, far := f.pair()
	f.wantRefused(fresh, aio.ErrWatcherClosed)
	// What was refused is still the program's.
	received := f.receive(far, []byte("mine"))
	if _, err := fresh.Write([]byte("mine")); err != nil {
		f.Errorf("a connection that a closed watcher refused cannot be used: %v", err)
	}
	<-received
}
