package std

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// longest bounds every wait for what must happen.
const longest = time.Minute

// fixture is a watcher on Std with an allocator of its own, of which nothing may
// be left when the test ends.
type fixture struct {
	*testing.T
	w     watcher
	d     *Driver
	alloc *mem.Allocator
}

func newFixture(t *testing.T, o op.Settings) *fixture {
	t.Helper()
	if o.Allocator == nil {
		o.Allocator = mem.New(mem.Options{Name: "std"})
	}
	sluicetest.NoLeaks(t, o.Allocator)
	if o.BufferSize == 0 {
		o.BufferSize = 64 << 10
	}
	d := Open(o)
	x := &fixture{T: t, w: watcher{d}, d: d, alloc: o.Allocator}
	t.Cleanup(func() {
		x.w.Close()
		x.next() // ends the time of what was borrowed last
		x.wantGoroutines(0)
		x.d.mu.Lock()
		defer x.d.mu.Unlock()
		if d := x.d; d.life.goroutines != 0 || d.life.writes != 0 || len(d.table.conns) != 0 || d.counters.Pending != 0 || d.counters.QueuedBytes != 0 {
			t.Errorf("after Close: %d goroutines, %d writes, %d connections, %+v", d.life.goroutines, d.life.writes, len(d.table.conns), d.counters)
		}
	})
	return x
}

// next is a WaitIO that fails the test when it does not return.
func (x *fixture) next() ([]op.Result, error) {
	x.Helper()
	type waited struct {
		results []op.Result
		err     error
	}
	c := make(chan waited, 1)
	go func() {
		r, err := x.w.WaitIO()
		c <- waited{r, err}
	}()
	select {
	case r := <-c:
		return r.results, r.err
	case <-time.After(longest):
		x.Fatalf("WaitIO has not returned: %+v\n%s", x.w.Stats(), stacks())
		return nil, nil
	}
}

// one is the only result of the next WaitIO.
func (x *fixture) one() op.Result {
	x.Helper()
	results, err := x.next()
	if err != nil || len(results) != 1 {
		x.Fatalf("WaitIO returned %d results, %v, want 1", len(results), err)
	}
	return results[0]
}

// wantOne is one that has to be the one with this context, error and size.
func (x *fixture) wantOne(ctx any, want error, size int) op.Result {
	x.Helper()
	r := x.one()
	if r.Context != ctx || !errors.Is(r.Error, want) || r.Size != size {
		x.Fatalf("%v completed with %d bytes, %v, want %v with %d, %v", r.Context, r.Size, r.Error, ctx, size, want)
	}
	return r
}

// fence completes by its deadline, after a while in which nothing else may.
func (x *fixture) fence() {
	x.Helper()
	near, _ := x.pipe()
	x.must(x.w.ReadTimeout("fence", near, make([]byte, 1), time.Now().Add(60*time.Millisecond)))
	x.wantOne("fence", op.ErrDeadline, 0)
}

func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x *fixture) pipe() (near, far net.Conn) {
	near, far = net.Pipe()
	x.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func (x *fixture) tcp() (near, far *net.TCPConn) {
	x.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	x.must(err)
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	x.must(err)
	a, err := l.Accept()
	x.must(err)
	x.Cleanup(func() { a.Close(); c.Close() })
	x.must(c.SetDeadline(time.Now().Add(2 * longest)))
	return a.(*net.TCPConn), c.(*net.TCPConn)
}

// narrow makes the way from a to b short.
func (x *fixture) narrow(a, b *net.TCPConn) {
	x.Helper()
	x.must(errors.Join(a.SetWriteBuffer(32<<10), b.SetReadBuffer(32<<10)))
}

// wantGoroutines waits until so many goroutines of lanes are left.
func (x *fixture) wantGoroutines(want int) {
	x.Helper()
	x.eventually("as many goroutines as are wanted", func() bool {
		return bytes.Count(stacks(), []byte("std.(*direction).run(")) == want
	})
}

func (x *fixture) eventually(what string, ok func() bool) {
	x.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(longest); !ok(); <-tick.C {
		if time.Now().After(end) {
			x.Fatalf("not after %v: %s\n%s", longest, what, stacks())
		}
	}
}

// echo has the watcher send back whatever comes on conn, until total bytes are
// back, and returns how many reads that took and the largest.
func (x *fixture) echo(conn net.Conn, total int) (reads, largest int) {
	x.Helper()
	x.must(x.w.Read(nil, conn, nil))
	for back := 0; back < total; {
		results, err := x.next()
		x.must(err)
		for _, r := range results {
			switch {
			case r.Error != nil:
				x.Fatalf("%v: %v", r.Operation, r.Error)
			case r.Operation == op.Read:
				reads++
				largest = max(largest, r.Size)
				x.must(x.w.Write(nil, conn, bytes.Clone(r.Buffer)))
			default:
				if back += r.Size; back < total {
					x.must(x.w.Read(nil, conn, nil))
				}
			}
		}
	}
	return reads, largest
}

// wantEcho has the peer send data and compare what comes back.
func (x *fixture) wantEcho(far net.Conn, data []byte) (done func()) {
	errs := make(chan error, 2)
	go func() {
		_, err := far.Write(data)
		errs <- err
	}()
	go func() {
		got := make([]byte, len(data))
		_, err := io.ReadFull(far, got)
		if err == nil && !bytes.Equal(got, data) {
			err = errors.New("other bytes came back")
		}
		errs <- err
	}()
	return func() {
		x.Helper()
		x.must(errors.Join(<-errs, <-errs))
	}
}

func stacks() []byte {
	b := make([]byte, 1<<20)
	return b[:runtime.Stack(b, true)]
}

// scripted is a connection that does what a test says. Read and Write block on
// nothing of their own.
type scripted struct {
	read  func(p []byte) (int, error)
	write func(p []byte) (int, error)
	// set is called with each deadline of reads; nil refuses them.
	set func(t time.Time) error

	closing sync.Once
	closed  chan struct{}
}

func newScripted() *scripted { return &scripted{closed: make(chan struct{})} }

func (c *scripted) Read(p []byte) (int, error)  { return c.read(p) }
func (c *scripted) Write(p []byte) (int, error) { return c.write(p) }
func (c *scripted) LocalAddr() net.Addr         { return nil }
func (c *scripted) RemoteAddr() net.Addr        { return nil }
func (c *scripted) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}
func (c *scripted) SetDeadline(t time.Time) error      { return os.ErrNoDeadline }
func (c *scripted) SetWriteDeadline(t time.Time) error { return os.ErrNoDeadline }
func (c *scripted) SetReadDeadline(t time.Time) error {
	if c.set == nil {
		return os.ErrNoDeadline
	}
	return c.set(t)
}
