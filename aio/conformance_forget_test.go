package aio_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"time"
	"weak"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	suite = append(suite,
		behaviour{name: "forgotten connections are closed", run: forgottenConns, needs: collects},
		behaviour{name: "forgotten connections are closed while WaitIO sleeps", run: forgottenWhileParked, needs: collects},
		behaviour{name: "a connection with something pending is not forgotten", run: pendingIsNotForgotten, on: everyConn},
		behaviour{name: "a connection with a finalizer of its own", run: finalizers, on: onlyTCP},
		behaviour{name: "a new connection where a forgotten one was", run: addressReuse, on: onlyTCP},
		behaviour{name: "a forgotten watcher is closed with its connections", run: forgottenWatcher, needs: collects},
		behaviour{name: "a forgotten watcher is closed when what it holds leads to it", run: forgottenWatcherInContext, needs: collects},
		behaviour{name: "a watcher is not forgotten while somebody waits on it", run: waitedOnIsNotForgotten},
		behaviour{name: "contexts and buffers are let go", run: letGo},
	)
}

// collected runs the collector until ok says that it has done its work. What it
// leaves to goroutines, cleanups and finalizers, comes a little later.
func (f *fixture) collected(what string, ok func() bool) {
	f.Helper()
	f.eventually(what, func() bool {
		runtime.GC()
		return ok()
	})
}

// useUp submits to each of n connections, waits for the completions and returns
// only the peers: nothing refers to the connections any more. It does not record them in
// the fixture, which would keep them alive. Known is called after the
// watcher has registered a connection.
//
//go:noinline
func (f *fixture) useUp(n int, wrap func(net.Conn) net.Conn, known func(net.Conn)) (far []net.Conn) {
	f.Helper()
	for i := range n {
		near, peer := f.loosePair()
		far = append(far, peer)
		conn := wrap(near)
		if err := f.w.Write(i, conn, []byte{1}); err != nil {
			f.Fatal(err)
		}
		known(conn)
		if err := f.w.ReadBuf(i, conn, 1, time.Time{}); err != nil {
			f.Fatal(err)
		}
		f.sendAll(peer, []byte{2})
		f.receiveAll(peer, []byte{1})
	}
	for left := 2 * n; left > 0; {
		left -= f.drop()
	}
	return far
}

// drop takes results and forgets them. It returns how many there were.
//
//go:noinline
func (f *fixture) drop() int {
	f.Helper()
	results, err := f.next()
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range results {
		if r.Error != nil {
			f.Errorf("a %v completed with %v", r.Operation, r.Error)
		}
		if r.Buf.Valid() {
			r.Buf.Release()
		}
	}
	return len(results)
}

func asItIs(conn net.Conn) net.Conn  { return conn }
func wrapped(conn net.Conn) net.Conn { return &pointerWrapper{conn.(*net.TCPConn)} }
func nothing(net.Conn)               {}

func forgottenConns(f *fixture) {
	const n = 40
	far := f.useUp(n/2, asItIs, nothing)
	if f.network == "tcp" {
		far = append(far, f.useUp(n/2, wrapped, nothing)...)
	} else {
		far = append(far, f.useUp(n/2, asItIs, nothing)...)
	}
	f.wantForgotten(far, n)
	// And once more: the collector is looked after for good.
	f.wantForgotten(f.useUp(n, asItIs, nothing), 2*n)
}

// wantForgotten waits for the collector to find the connections to these peers,
// n with those that it has found before.
func (f *fixture) wantForgotten(far []net.Conn, n uint32) {
	f.Helper()
	f.collected("GetGC counts the forgotten connections", func() bool {
		found, closed := f.w.GetGC()
		if found > n || closed > found {
			f.Fatalf("of %d forgotten connections %d were found and %d closed", n, found, closed)
		}
		return found == n && closed == n
	})
	for _, c := range far {
		f.wantEOF(c)
	}
	if s := f.w.Stats(); s.Conns != 0 || s.Freed != uint64(n) || s.Found != n || s.Collected != n {
		f.Errorf("%d connections were forgotten: %+v", n, s)
	}
}

func forgottenWhileParked(f *fixture) {
	far := f.useUp(10, asItIs, nothing)
	f.park()
	f.wantForgotten(far, 10)
	if !f.parked() {
		f.Error("WaitIO returned, and nothing has completed")
	}
}

// pendingIsNotForgotten: the completion will name the connection, so the program
// has not lost it.
func pendingIsNotForgotten(f *fixture) {
	far := f.submitAndForget()
	f.park()
	for range 5 {
		runtime.GC()
	}
	if found, _ := f.w.GetGC(); found != 0 || !f.parked() {
		f.Fatalf("%d connections were taken for forgotten, with a read pending", found)
	}
	f.send(far, []byte{7})
	results, err := f.join()
	if err != nil || len(results) != 1 || results[0].Error != nil || results[0].Size != 1 || results[0].Buffer[0] != 7 {
		f.Fatalf("the read that was pending: %+v, %v", results, err)
	}
	if results[0].Conn == nil || results[0].Conn.LocalAddr() == nil {
		f.Error("the completion does not name the connection")
	}
}

//go:noinline
func (f *fixture) submitAndForget() (far net.Conn) {
	f.Helper()
	near, far := f.loosePair()
	if err := f.w.Read(nil, near, make([]byte, 10)); err != nil {
		f.Fatal(err)
	}
	return far
}

// finalizers are the program's own, set before the first submission and after
// it: a second one of the watcher's would end the process.
func finalizers(f *fixture) {
	const n = 10
	var ran atomic.Int32
	set := func(c net.Conn) {
		runtime.SetFinalizer(c.(*pointerWrapper), func(w *pointerWrapper) {
			_ = w.Close()
			ran.Add(1)
		})
	}
	f.useUp(n, func(c net.Conn) net.Conn {
		c = wrapped(c)
		set(c)
		return c
	}, nothing)
	f.useUp(n, wrapped, set)
	// Std holds connections until the next WaitIO.
	o := f.readTimeout(f.idleConn(), 1, time.Unix(1, 0))
	f.wait(o)
	f.collected("the program's finalizers run", func() bool { return ran.Load() == 2*n })
	if f.can&collects != 0 {
		f.collected("GetGC counts the forgotten connections", func() bool {
			found, closed := f.w.GetGC()
			return found == 2*n && closed == 2*n
		})
	}
}

// addressReuse forgets connections and makes new ones at once, which get the
// memory of those, before the watcher can have noticed: what the collector has
// found is held up.
func addressReuse(f *fixture) {
	const n = 30
	for range 10 {
		inner, peers := make([]net.Conn, n), make([]net.Conn, n)
		for i := range n {
			inner[i], peers[i] = f.socketPair()
		}
		for _, c := range f.useUp(n, wrapped, nothing) {
			_ = c.Close()
		}
		goOn := holdUpCleanups()
		runtime.GC()
		var conns [n]net.Conn
		var bufs [n][]byte
		for i := range n {
			conns[i] = wrapped(inner[i])
			bufs[i] = make([]byte, 1)
			if err := f.w.ReadFull(i, conns[i], bufs[i], time.Time{}); err != nil {
				f.Fatalf("a new connection was refused: %v", err)
			}
		}
		goOn()
		for i := range n {
			f.sendAll(peers[i], []byte{byte(i)})
		}
		for left := n; left > 0; {
			left -= f.drop()
		}
		for i := range n {
			if bufs[i][0] != byte(i) {
				f.Errorf("connection %d read what was sent to %d", i, bufs[i][0])
			}
			f.free(conns[i])
			_ = peers[i].Close()
		}
	}
}

// holdUpCleanups keeps the goroutines that run cleanups busy after the next
// collection, until goOn is called, or for a moment.
//
//go:noinline
func holdUpCleanups() (goOn func()) {
	hold, cancel := context.WithTimeout(context.Background(), time.Second)
	for range 64 {
		runtime.AddCleanup(new([32]byte), func(c context.Context) { <-c.Done() }, hold)
	}
	return cancel
}

// forgottenWatcher: the program keeps the connections, and no goroutine is in WaitIO.
func forgottenWatcher(f *fixture) {
	f.forgetWatcher(false)
}

// forgottenWatcherInContext: a program's Context is often a session that has the watcher
// among its fields. With Std an operation under way is with a goroutine, which keeps it.
func forgottenWatcherInContext(f *fixture) {
	f.forgetWatcher(true)
}

func (f *fixture) forgetWatcher(inContext bool) {
	f.Helper()
	near, far := f.pairs(10)
	f.useOtherWatcher(near, far, inContext)
	for _, c := range far {
		f.collected("the peer of a forgotten watcher sees the end", func() bool {
			if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
				f.Fatal(err)
			}
			n, err := c.Read(make([]byte, 1))
			return n == 0 && err == io.EOF
		})
	}
	runtime.KeepAlive(near)
}

//go:noinline
func (f *fixture) useOtherWatcher(near, far []net.Conn, inContext bool) {
	f.Helper()
	w, err := aio.NewWatcherOptions(aio.Options{Driver: f.driver})
	if err != nil {
		f.Fatal(err)
	}
	var session any
	if inContext {
		session = w
	}
	for i, c := range near {
		if err := w.Write(session, c, []byte{1}); err != nil {
			f.Fatal(err)
		}
		// Half of them with something pending.
		if i%2 == 0 && !(inContext && f.driver == aio.Std) {
			if err := w.Read(session, c, nil); err != nil {
				f.Fatal(err)
			}
		}
		f.receiveAll(far[i], []byte{1})
	}
	if inContext {
		return // with the completions
	}
	if _, err := w.WaitIO(); err != nil {
		f.Fatal(err)
	}
}

// waitedOnIsNotForgotten leaves a running WaitIO as the only reference to a watcher.
func waitedOnIsNotForgotten(f *fixture) {
	near, far := f.pair()
	result := f.onlyWait(near)
	for range 20 {
		runtime.GC()
	}
	f.send(far, []byte{7})
	select {
	case r := <-result:
		if r.err != nil || len(r.results) != 1 || r.results[0].Error != nil {
			f.Errorf("WaitIO of a watcher to which nobody else refers: %+v, %v", r.results, r.err)
		}
	case <-time.After(eventTimeout):
		f.Errorf("WaitIO has not returned\n%s", stacks())
	}
	runtime.KeepAlive(near)
}

//go:noinline
func (f *fixture) onlyWait(near net.Conn) <-chan waited {
	f.Helper()
	w, err := aio.NewWatcherOptions(aio.Options{Driver: f.driver})
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Read(nil, near, make([]byte, 10)); err != nil {
		f.Fatal(err)
	}
	result, id := make(chan waited, 1), make(chan string)
	go func() {
		id <- goroutineID()
		r, err := w.WaitIO()
		result <- waited{r, err}
	}()
	waiter := <-id
	f.eventually("WaitIO sleeps", func() bool { return sleeps(waiter) })
	return result
}

// A burden is a context value that the collector can be asked about.
type burden struct {
	name string
	_    [1 << 10]byte
}

// letGo consumes completions of every kind, and does not call WaitIO again.
func letGo(f *fixture) {
	near, far := f.pair()
	long, cancel := context.WithCancel(f.Context())
	defer cancel()
	// Among many timers the runtime keeps one that was stopped for a long time,
	// with whatever it refers to.
	for range 200 {
		timer := time.AfterFunc(time.Hour, func() {})
		defer timer.Stop()
	}
	for name, gone := range f.submitBurdens(near, far, long) {
		f.collected(name+" is let go", gone)
	}
	runtime.KeepAlive(near)
}

//go:noinline
func (f *fixture) submitBurdens(near, far net.Conn, long context.Context) (gone map[string]func() bool) {
	f.Helper()
	gone = map[string]func() bool{}
	past := time.Now().Add(-time.Hour)
	name := ""
	buf := func() []byte {
		b := new([1 << 10]byte)
		w := weak.Make(b)
		gone["the buffer of "+name] = func() bool { return w.Value() == nil }
		return b[:]
	}
	watched := func() *burden {
		ctx := &burden{name: name}
		w := weak.Make(ctx)
		gone["the context of "+name] = func() bool { return w.Value() == nil }
		return ctx
	}
	for what, submit := range map[string]func(ctx *burden) error{
		"Read":         func(ctx *burden) error { return f.w.Read(ctx, near, buf()) },
		"ReadTimeout":  func(ctx *burden) error { return f.w.ReadTimeout(ctx, near, buf(), past) },
		"ReadContext":  func(ctx *burden) error { return f.w.ReadContext(long, ctx, near, buf()) },
		"ReadBuf":      func(ctx *burden) error { return f.w.ReadBuf(ctx, near, 1, never()) },
		"Write":        func(ctx *burden) error { return f.w.Write(ctx, near, buf()) },
		"WriteBuf":     func(ctx *burden) error { return f.w.WriteBuf(ctx, near, f.bufOf([]byte{1}), never()) },
		"WriteContext": func(ctx *burden) error { return f.w.WriteContext(long, ctx, near, buf()) },
	} {
		name = what
		ctx := watched()
		if err := submit(ctx); err != nil {
			f.Fatal(err)
		}
		f.sendAll(far, []byte{1})
		f.consumeBurden(ctx)
	}
	// And of one that has waited for another, with a deadline far away.
	near, far = f.pair()
	first := f.read(near, 1)
	name = "ReadTimeout in the queue"
	ctx := watched()
	if err := f.w.ReadTimeout(ctx, near, buf(), never()); err != nil {
		f.Fatal(err)
	}
	f.sendAll(far, []byte{1})
	f.wait(first)
	f.sendAll(far, []byte{1})
	f.consumeBurden(ctx)
	return gone
}

//go:noinline
func (f *fixture) consumeBurden(want *burden) {
	f.Helper()
	results, err := f.next()
	if err != nil || len(results) != 1 || results[0].Context != any(want) {
		f.Fatalf("%s: %d results, %v, want its own context", want.name, len(results), err)
	}
	if results[0].Buf.Valid() {
		results[0].Buf.Release()
	}
}
