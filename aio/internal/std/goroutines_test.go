package std

import (
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

func TestIdleConnectionHasNoGoroutine(t *testing.T) {
	x := newFixture(t, op.Settings{})
	before := runtime.NumGoroutine()
	const n = 50
	for range n {
		near, far := x.tcp()
		x.must(x.w.Read("read", near, nil))
		x.must(x.w.Write("write", near, []byte("abc")))
		_, err := far.Write([]byte("abc"))
		x.must(err)
	}
	for got := 0; got < 2*n; {
		results, err := x.next()
		x.must(err)
		got += len(results)
	}
	x.wantGoroutines(0)
	x.eventually("no goroutine is left of 50 connections", func() bool { return runtime.NumGoroutine() <= before })
	if s := x.w.Stats(); s.Conns != n || s.Pending != 0 {
		t.Errorf("%d connections with %d operations", s.Conns, s.Pending)
	}
}

func TestPendingOperationsHaveOneGoroutineForEachDirection(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, _ := x.pipe()
	for range 20 {
		x.must(x.w.Read(nil, near, nil))
		x.must(x.w.Write(nil, near, []byte("abc")))
	}
	x.wantGoroutines(2)
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	x := newFixture(t, op.Settings{})
	before := runtime.NumGoroutine()
	pending := 0
	for i := range 30 {
		a, b := x.tcp()
		x.narrow(a, b)
		near := net.Conn(a)
		switch i % 3 {
		case 1:
			near, _ = x.pipe()
		case 2:
			near, _ = x.tlsOver(a, b)
		}
		x.must(x.w.Read(i, near, nil))
		x.must(x.w.Read(i, near, make([]byte, 5)))
		x.must(x.w.Write(i, near, patterned(4<<20)))
		pending += 3
	}
	x.must(x.w.Close())
	x.wantGoroutines(0)
	x.eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	results, err := x.next()
	if err != op.ErrWatcherClosed || len(results) != pending {
		t.Fatalf("%d results of %d, %v", len(results), pending, err)
	}
	for _, r := range results {
		if !errors.Is(r.Error, op.ErrWatcherClosed) {
			t.Errorf("%v of %v completed with %v", r.Operation, r.Context, r.Error)
		}
	}
	if results, err := x.next(); len(results) != 0 || err != op.ErrWatcherClosed {
		t.Errorf("a later WaitIO: %d results, %v", len(results), err)
	}
	if err := x.w.Read(nil, newScripted(), nil); err != op.ErrWatcherClosed {
		t.Errorf("a submission after Close: %v", err)
	}
}

func TestSubmissionsDoNotBlock(t *testing.T) {
	x := newFixture(t, op.Settings{})
	c := newScripted()
	c.write = func(p []byte) (int, error) {
		<-c.closed
		return 0, net.ErrClosed
	}
	c.read = c.write
	const n = 1000
	for i := range n {
		x.must(x.w.Write(i, c, []byte("abc")))
		x.must(x.w.Read(i, c, make([]byte, 3)))
	}
	if s := x.w.Stats(); s.QueuedBytes != 3*n || s.Pending != 2*n {
		t.Errorf("%d bytes and %d operations wait", s.QueuedBytes, s.Pending)
	}
	x.must(x.w.Free(c))
	var next [2]int
	for next[0]+next[1] < 2*n {
		results, err := x.next()
		x.must(err)
		for _, r := range results {
			if r.Error != io.ErrClosedPipe || r.Context != next[r.Operation] {
				t.Fatalf("%v %v completed with %v, want %d", r.Operation, r.Context, r.Error, next[r.Operation])
			}
			next[r.Operation]++
		}
	}
}

// A connection whose Close ends nothing holds up the watcher's Close for a
// while, and what it has stays with it.
func TestCloseGivesUpOnAStuckConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Open(op.Settings{BufferSize: 64 << 10, Allocator: mem.Default()})
		release := make(chan struct{})
		c := newScripted()
		c.read = func(p []byte) (int, error) {
			<-release
			return 0, io.EOF
		}
		if err := d.Submit(c, op.Request{Kind: op.ReadSome, Ctx: "stuck", Buf: make([]byte, 1)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		d.Close()
		if took := time.Since(start); took != closeWait {
			t.Errorf("Close took %v", took)
		}
		if results, err := d.Wait(); len(results) != 0 || err != op.ErrWatcherClosed {
			t.Errorf("WaitIO: %d results, %v", len(results), err)
		}
		close(release)
		synctest.Wait()
		results, err := d.Wait()
		if len(results) != 1 || !errors.Is(results[0].Error, op.ErrWatcherClosed) || err != op.ErrWatcherClosed {
			t.Errorf("WaitIO after the read has returned: %+v, %v", results, err)
		}
	})
}
