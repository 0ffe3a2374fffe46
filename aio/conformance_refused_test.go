package aio_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	complete := func(o *aio.Options) { o.ErrorsComplete = true }
	limited := func(o *aio.Options) { o.ErrorsComplete, o.QueueLimit = true, limit }
	suite = append(suite,
		behaviour{name: "a submission on a freed connection completes with its error", run: freedCompletes, options: complete, on: everyConn},
		behaviour{name: "a submission on a closed connection completes with its error", run: closedCompletes, options: complete, on: append(streams, "tls")},
		behaviour{name: "a connection without a descriptor completes with its error", run: anyConnCompletes, instead: unsupportedCompletes, needs: anyConn, options: complete, on: onlyTCP},
		behaviour{name: "a connection that cannot be a key completes with its error", run: unhashableCompletes, options: complete, on: onlyTCP},
		behaviour{name: "a write into a full queue completes with its error", run: fullCompletes, options: limited},
		behaviour{name: "an error for one connection wakes WaitIO", run: errorWakes, options: complete},
		behaviour{name: "what is wrong with the watcher is returned", run: watcherErrorReturned, options: complete},
		behaviour{name: "two goroutines in WaitIO panic", run: twoInWaitIO, on: onlyTCP},
		behaviour{name: "affinity after Close", run: affinityAfterClose, on: onlyTCP},
	)
}

// everySubmission submits operations of every kind, and returns those that were
// accepted.
func (f *fixture) everySubmission(conn net.Conn) []*op {
	f.Helper()
	data := f.bytes(100)
	return []*op{
		f.read(conn, 10), f.readNil(conn), f.readFull(conn, 10, time.Time{}), f.readBuf(conn, 0, time.Time{}),
		f.write(conn, data), f.writeBuf(conn, f.bufOf(data), time.Time{}), f.writeMemory(conn, f.memoryOf(data, 3), time.Time{}),
	}
}

// wantPlain checks that all have completed with exactly this error: programs
// written for gaio compare with ==.
func (f *fixture) wantPlain(ops []*op, want error) {
	f.Helper()
	f.wait(ops...)
	for _, o := range ops {
		if o.res.Error != want || o.res.Size != 0 {
			f.Errorf("%v completed with %d bytes, %v, want %v", o, o.res.Size, o.res.Error, want)
		}
	}
}

func freedCompletes(f *fixture) {
	near, _ := f.pair()
	pending := f.read(near, 10)
	f.free(near)
	f.wait(pending)
	ops := f.everySubmission(near)
	f.wait(ops...)
	if f.driver == aio.Std && f.network == "pipe" {
		return // it is not known any more: see the driver
	}
	f.wantPlain(ops, aio.ErrConnClosed)
}

// closedCompletes: the program has closed the connection before it came to the
// watcher.
func closedCompletes(f *fixture) {
	near, _ := f.pair()
	if err := near.Close(); err != nil {
		f.Fatal(err)
	}
	f.wantPlain(f.everySubmission(near), aio.ErrConnClosed)
}

func unsupportedCompletes(f *fixture) {
	inner, _ := f.pair()
	piped, farOfPiped := net.Pipe()
	defer func() { _ = piped.Close(); _ = farOfPiped.Close() }()
	for _, conn := range []net.Conn{&hiding{inner}, hiding{inner}, piped} {
		f.wantPlain(f.everySubmission(conn), aio.ErrUnsupported)
	}
}

func anyConnCompletes(f *fixture) {
	piped, far := net.Pipe()
	defer func() { _ = far.Close() }()
	o := f.read(piped, 10)
	f.send(far, []byte("x"))
	f.wait(o)
	f.wantError(o, nil)
	f.free(piped)
}

func unhashableCompletes(f *fixture) {
	near, _ := f.pair()
	conn := unhashableConn{near.(*net.TCPConn), nil}
	if err := f.w.Read("unhashable", conn, make([]byte, 1)); err != nil {
		f.Fatal(err)
	}
	results, err := f.next()
	if err != nil || len(results) != 1 || results[0].Context != "unhashable" || results[0].Error != aio.ErrUnsupported {
		f.Errorf("%d results, %v, want one with ErrUnsupported", len(results), err)
	}
}

type unhashableConn struct {
	*net.TCPConn
	tags []string
}

func fullCompletes(f *fixture) {
	near, far := f.narrowPair()
	data := f.bytes(tooMuch)
	first := f.write(near, data)
	refused := []*op{f.write(near, data), f.writeBuf(near, f.bufOf(data), time.Time{})}
	for _, o := range refused {
		o.loose = true // a refused operation does not wait for earlier ones
	}
	f.wantPlain(refused, aio.ErrQueueFull)
	f.receive(far, data)
	f.wait(first)
	f.wantError(first, nil)
}

func errorWakes(f *fixture) {
	near, _ := f.pair()
	if err := near.Close(); err != nil {
		f.Fatal(err)
	}
	f.park()
	f.wantPlain([]*op{f.read(near, 10)}, aio.ErrConnClosed)
}

func watcherErrorReturned(f *fixture) {
	near, _ := f.pair()
	if err := f.w.Read(nil, nil, nil); !errors.Is(err, aio.ErrUnsupported) {
		f.Errorf("a read on no connection: %v, want ErrUnsupported", err)
	}
	if err := f.w.Write(nil, near, nil); err != aio.ErrEmptyBuffer {
		f.Errorf("a write of nothing: %v, want ErrEmptyBuffer", err)
	}
	if err := f.w.Close(); err != nil {
		f.Fatal(err)
	}
	for _, conn := range []net.Conn{near, &hiding{near}} {
		if err := f.w.Read(nil, conn, nil); err != aio.ErrWatcherClosed {
			f.Errorf("a read when the watcher is closed: %v, want ErrWatcherClosed", err)
		}
	}
	_ = near.Close()
}

// twoInWaitIO: the second call panics, and the first goes on.
func twoInWaitIO(f *fixture) {
	o := f.readTimeout(f.idleConn(), 1, never())
	f.park()
	f.wantPanic("aio: WaitIO", func() { _, _ = f.w.WaitIO() })
	f.free(o.conn)
	f.wait(o)
}

func affinityAfterClose(f *fixture) {
	if err := f.w.Close(); err != nil {
		f.Fatal(err)
	}
	for _, set := range []func(int) error{f.w.SetLoopAffinity, f.w.SetPollerAffinity} {
		if err := set(0); err != aio.ErrConnClosed {
			f.Errorf("an affinity after Close: %v, want ErrConnClosed", err)
		}
	}
}

// TestErrorsComplete: the watchers of gaio's two functions complete with the
// error of a connection, and NewWatcherOptions returns it unless asked not to.
func TestErrorsComplete(t *testing.T) {
	for name, make := range map[string]func() (*aio.Watcher, error){
		"NewWatcher":     aio.NewWatcher,
		"NewWatcherSize": func() (*aio.Watcher, error) { return aio.NewWatcherSize(1000) },
	} {
		t.Run(name, func(t *testing.T) {
			w, err := make()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			server, _ := newPairMaker(t, "tcp").mustPair(t)
			_ = server.Close()
			for _, submit := range []func() error{
				func() error { return w.Read("it", server, nil) },
				func() error { return w.Write("it", server, []byte("x")) },
			} {
				if err := submit(); err != nil {
					t.Fatalf("a submission on a closed connection: %v, want a completion", err)
				}
				results, err := w.WaitIO()
				if err != nil || len(results) != 1 || results[0].Context != "it" || results[0].Conn != server || results[0].Error != aio.ErrConnClosed {
					t.Fatalf("%+v, %v", results, err)
				}
			}
		})
	}
	w, err := aio.NewWatcherOptions(aio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	server, _ := newPairMaker(t, "tcp").mustPair(t)
	_ = server.Close()
	if d, _ := w.Driver(); d != aio.Std {
		if err := w.Read(nil, server, nil); err != aio.ErrConnClosed {
			t.Errorf("NewWatcherOptions, a closed connection: %v, want ErrConnClosed", err)
		}
	}
}
