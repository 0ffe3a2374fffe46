//go:build unix

package aio_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	suite = append(suite,
		behaviour{name: "nothing is left after Close", run: nothingLeft},
		behaviour{name: "nothing is left of what was freed or forgotten", run: nothingLeftOfFreed},
		behaviour{name: "a descriptor is used again at once", run: descriptorReuse},
		behaviour{name: "a descriptor is used again while a copy is open", run: descriptorReuseWithCopy},
		behaviour{name: "descriptors are used again by many at once", run: descriptorChurn},
		behaviour{name: "the connection's own methods", run: delegated, needs: delegates, instead: notDelegated},
		behaviour{name: "socket options stay as they are", run: optionsKept, on: onlyTCP},
	)
}

// openDescriptors counts what is open in this process.
func openDescriptors(f *fixture) int {
	f.Helper()
	if names, err := os.ReadDir("/proc/self/fd"); err == nil {
		return len(names) - 1 // the directory itself
	}
	n := 0
	var st syscall.Stat_t
	for fd := range 4096 {
		if syscall.Fstat(fd, &st) == nil {
			n++
		}
	}
	return n
}

// nothingLeft counts before and after: watchers, each with connections and with
// operations in flight.
func nothingLeft(f *fixture) {
	// What is made once stays: the listener, Go's own poller, the fixture's loop.
	f.free(f.idleConn())
	before, goroutines := openDescriptors(f), runtime.NumGoroutine()
	for range 15 {
		f.watcherWithConns(5)
	}
	f.eventually("all descriptors are closed", func() bool { return openDescriptors(f) <= before })
	f.eventually("all goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// watcherWithConns makes a watcher, has it busy with n connections, and closes it.
func (f *fixture) watcherWithConns(n int) {
	f.Helper()
	w, err := aio.NewWatcherOptions(aio.Options{Driver: f.driver})
	if err != nil {
		f.Fatal(err)
	}
	waiting := newWaitLoop(w)
	defer waiting.end()
	var far []net.Conn
	for range n {
		near, peer := f.socketPair()
		f.narrow(near, peer)
		far = append(far, peer)
		if err := errors.Join(w.Read(nil, near, nil), w.ReadTimeout(nil, near, make([]byte, 1), never()),
			w.ReadContext(f.Context(), nil, near, nil), w.Write(nil, near, f.bytes(tooMuch))); err != nil {
			f.Fatal(err)
		}
	}
	waiting.start()
	if err := w.Close(); err != nil {
		f.Error(err)
	}
	results, err, ok := waiting.result(eventTimeout)
	if !ok || len(results) != 4*n || !errors.Is(err, aio.ErrWatcherClosed) {
		f.Fatalf("after Close: %d results of %d, %v", len(results), 4*n, err)
	}
	for _, c := range far {
		_ = c.Close()
	}
}

func nothingLeftOfFreed(f *fixture) {
	f.free(f.idleConn())
	before, goroutines := openDescriptors(f), runtime.NumGoroutine()
	for i := range 60 {
		near, far := f.socketPair()
		o := f.read(near, 10)
		if i%2 == 0 {
			f.free(near)
		} else {
			_ = far.Close()
			f.wait(o)
			f.free(near)
		}
		f.wait(o)
		_ = far.Close()
	}
	f.eventually("all descriptors are closed", func() bool { return openDescriptors(f) <= before })
	f.eventually("all goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// descriptorReuse frees a connection that has many events pending, so that another
// connection gets its descriptor number. Late events must not reach the new one.
func descriptorReuse(f *fixture) {
	for i := range 40 {
		near, far := f.socketPair()
		o := f.read(near, 10)
		w := f.write(near, []byte{1})
		if i%2 == 0 {
			f.wait(w)
			f.park()
		}
		f.sendAll(far, []byte("for the one that is freed"))
		_ = far.Close()
		f.free(near)
		f.wantUntouched()
		f.wait(o, w)
		f.wantError(o, nil, io.ErrClosedPipe)
		f.wantError(w, append([]error{nil, io.ErrClosedPipe}, resets...)...)
	}
}

// descriptorReuseWithCopy keeps a duplicate of the socket open: the kernel then
// goes on reporting its events after Free.
func descriptorReuseWithCopy(f *fixture) {
	for range 20 {
		near, far := f.socketPair()
		copied, err := near.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			f.Fatal(err)
		}
		o := f.read(near, 10)
		f.park()
		f.free(near)
		f.wait(o)
		next, farOfNext := f.socketPair()
		n := f.read(next, 10)
		f.park()
		calls := f.w.Stats().WaitCalls
		for range 100 {
			f.sendAll(far, []byte("x"))
		}
		_ = far.Close()
		f.wantStill(n)
		// The freed connection does not even wake WaitIO.
		if more := f.w.Stats().WaitCalls - calls; more > 10 {
			f.Errorf("a connection that was freed has had the poller asked %d times", more)
		}
		f.sendAll(farOfNext, []byte("next"))
		f.wait(n)
		if f.wantError(n, nil); string(n.bytes()) != "next" {
			f.Errorf("%q was read, want what was sent", n.bytes())
		}
		// The copy is the program's, and the socket is not shut down.
		if n, err := io.ReadFull(copied, make([]byte, 100)); err != nil {
			f.Errorf("the copy read %d bytes of 100, %v", n, err)
		}
		f.free(next)
		_, _ = copied.Close(), farOfNext.Close()
	}
}

// wantUntouched submits to a new connection, on which nothing happens before its
// own peer sends.
func (f *fixture) wantUntouched() {
	f.Helper()
	near, far := f.socketPair()
	defer func() { _ = far.Close() }()
	o := f.read(near, 10)
	f.wantStill(o)
	f.sendAll(far, []byte("own"))
	f.wait(o)
	if f.wantError(o, nil); string(o.bytes()) != "own" {
		f.Errorf("%q was read, want what its own peer sent", o.bytes())
	}
	f.free(near)
}

// wantStill gives what is on its way the time to come.
func (f *fixture) wantStill(o *op) {
	f.Helper()
	marker := f.readTimeout(f.idleConn(), 1, time.Now().Add(2*time.Millisecond))
	f.wait(marker)
	f.free(marker.conn)
	if o.done {
		f.Fatalf("%v completed with %d bytes, %v, and nothing was sent", o, o.res.Size, o.res.Error)
	}
}

// descriptorChurn replaces connections all the time, each of which gets bytes of
// its own.
func descriptorChurn(f *fixture) {
	const n, rounds = 30, 15
	type end struct {
		near, far net.Conn
		tag       byte
		o         *op
	}
	var ends [n]end
	for round := range rounds {
		for i := range ends {
			near, far := f.socketPair()
			e := end{near, far, byte(round*n + i), f.read(near, 100)}
			f.sendAll(far, bytes.Repeat([]byte{e.tag}, 10))
			ends[i] = e
		}
		for i := range ends {
			e := &ends[i]
			if f.rand.IntN(3) == 0 {
				_ = e.far.Close()
			}
			if f.rand.IntN(3) == 0 {
				f.free(e.near)
			}
		}
		for i := range ends {
			e := &ends[i]
			f.wait(e.o)
			for _, b := range e.o.bytes() {
				if b != e.tag {
					f.Fatalf("connection %d read %v of another one", e.tag, e.o.bytes())
				}
			}
			f.free(e.near)
			_ = e.far.Close()
		}
	}
}

func delegated(f *fixture) {
	near, far := f.pair()
	local, remote := near.LocalAddr().String(), near.RemoteAddr().String()
	o := f.read(near, 10)
	if _, err := near.Write([]byte{1}); !errors.Is(err, net.ErrClosed) {
		f.Errorf("writing to a connection that was delegated: %v, want that it is closed", err)
	}
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		f.Errorf("reading from a connection that was delegated: %v, want that it is closed", err)
	}
	_ = near.Close()
	if near.LocalAddr().String() != local || near.RemoteAddr().String() != remote {
		f.Error("a connection that was delegated has other addresses")
	}
	f.sendAll(far, []byte("still"))
	f.wait(o)
	if f.wantError(o, nil); string(o.bytes()) != "still" {
		f.Errorf("%q was read after the program's Close", o.bytes())
	}
}

// notDelegated goes on using the connection, on which an operation's deadline is
// no one's any more when it is over.
func notDelegated(f *fixture) {
	near, far := f.pair()
	w := f.write(near, []byte{1})
	f.wait(w)
	r := f.readTimeout(near, 10, time.Now().Add(soon))
	f.wait(r)
	f.wantError(r, aio.ErrDeadline)
	if _, err := near.Write([]byte{2}); err != nil {
		f.Errorf("the connection's own Write: %v", err)
	}
	f.receiveAll(far, []byte{1, 2})
	f.sendAll(far, []byte{3})
	b := make([]byte, 10)
	f.eventually("the connection's own Read has no deadline", func() bool {
		n, err := near.Read(b)
		return err == nil && n == 1 && b[0] == 3
	})
}

// optionsKept looks at the socket through a copy that was taken before.
func optionsKept(f *fixture) {
	near, _ := f.pair()
	c := near.(*net.TCPConn)
	if err := errors.Join(c.SetNoDelay(false), c.SetKeepAlive(true), c.SetWriteBuffer(50_000), c.SetReadBuffer(60_000)); err != nil {
		f.Fatal(err)
	}
	copied, err := c.File()
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = copied.Close() }()
	before := socketOptions(f, copied)
	if before["TCP_NODELAY"] != 0 || before["SO_KEEPALIVE"] == 0 {
		f.Fatalf("the options were not set: %v", before)
	}
	o := f.readTimeout(near, 10, time.Unix(1, 0))
	f.wait(o)
	for name, value := range socketOptions(f, copied) {
		if before[name] != value {
			f.Errorf("%s is %d after the first submission, and was %d", name, value, before[name])
		}
	}
}

func socketOptions(f *fixture, file *os.File) map[string]int {
	f.Helper()
	raw, err := file.SyscallConn()
	if err != nil {
		f.Fatal(err)
	}
	values := map[string]int{}
	control := raw.Control(func(fd uintptr) {
		for _, o := range []struct {
			name        string
			level, what int
		}{
			{"TCP_NODELAY", syscall.IPPROTO_TCP, syscall.TCP_NODELAY},
			{"SO_KEEPALIVE", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE},
			{"SO_SNDBUF", syscall.SOL_SOCKET, syscall.SO_SNDBUF},
			{"SO_RCVBUF", syscall.SOL_SOCKET, syscall.SO_RCVBUF},
			{"SO_ERROR", syscall.SOL_SOCKET, syscall.SO_ERROR},
		} {
			var one error
			values[o.name], one = syscall.GetsockoptInt(int(fd), o.level, o.what)
			err = errors.Join(err, one)
		}
	})
	if err := errors.Join(err, control); err != nil {
		f.Fatal(err)
	}
	return values
}
