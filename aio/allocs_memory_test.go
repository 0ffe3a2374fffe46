package aio_test

import (
	"math"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// A quietCrowd are connections whose clients are bare descriptors where there are
// such, so that what the process holds for a connection is the watcher's.
type quietCrowd struct {
	t       *testing.T
	w       *aio.Watcher
	alloc   *mem.Allocator
	send    []func(p []byte) error
	servers []net.Conn
}

const idleConns = 4000

// newQuietCrowd connects n clients and hands all of them to a new watcher: read is
// called with each.
func newQuietCrowd(t *testing.T, n int, read func(c *quietCrowd, server net.Conn) error) *quietCrowd {
	t.Helper()
	if 2*n+crowdSlack > descriptorLimit(t) {
		t.Skipf("too few descriptors for %d connections", n)
	}
	c := &quietCrowd{t: t, alloc: mem.New(mem.Options{Name: t.Name()})}
	var err error
	if c.w, err = aio.NewWatcherOptions(aio.Options{Allocator: c.alloc}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.w != nil {
			_ = c.w.Close()
		}
	})
	if d, reason := c.w.Driver(); d == aio.Std {
		t.Skipf("no poller here (%s), and goroutines hold memory", reason)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c.send = make([]func([]byte) error, n)
	c.servers = make([]net.Conn, n)
	for i := range n {
		c.send[i] = bareClient(t, l.Addr().(*net.TCPAddr))
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.servers[i] = server
		if read != nil {
			if err := read(c, server); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// wait is WaitIO with errors that end the test.
func (c *quietCrowd) wait() []aio.OpResult {
	c.t.Helper()
	results, err := c.w.WaitIO()
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range results {
		if err := results[i].Error; err != nil {
			c.t.Fatal(err)
		}
	}
	return results
}

// park has a goroutine wait in WaitIO until stop, which returns when it is over.
func (c *quietCrowd) park() (stop func()) {
	var parked sync.WaitGroup
	parked.Go(func() {
		for {
			if _, err := c.w.WaitIO(); err != nil {
				return
			}
		}
	})
	return func() {
		_ = c.w.Close()
		parked.Wait()
	}
}

func readNothing(c *quietCrowd, server net.Conn) error { return c.w.Read(nil, server, nil) }

// heap is the bytes in use after collections. One is not enough for what lies in
// a sync.Pool or has a finalizer, and earlier tests have left such things.
func heap() int64 {
	least := int64(math.MaxInt64)
	for range 6 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		least = min(least, int64(m.HeapAlloc+m.StackInuse))
	}
	return least
}

// An idle connection has one nil read pending and has received a message. Its cost is
// the net.Conn, which the program holds, and the watcher's memory for it. The bound is
// the documented number of resident bytes for both.
func TestAnIdleConnectionCostsFewBytes(t *testing.T) {
	if sys.Race || invariant.Enabled || testing.Short() {
		t.Skip("many connections, and their memory counts in a plain build only")
	}
	const bound = 700
	c := newQuietCrowd(t, idleConns, nil)
	plain := heap()
	for i, s := range c.servers {
		if err := c.w.Read(nil, s, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.send[i](make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; n < idleConns; {
		for _, r := range c.wait() {
			n++
			if err := c.w.Read(nil, r.Conn, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop := c.park()
	yieldUntil(t, "the watcher's memory to come back", func() bool { return c.alloc.Stats().CheckedOut == 0 })
	with := heap()
	if got := c.w.Stats(); got.Conns != idleConns || got.Pending != idleConns {
		t.Fatalf("%d connections with %d operations", got.Conns, got.Pending)
	}
	stop()
	// What is left without the connections and the watcher is the test's own.
	clear(c.servers)
	c.w = nil
	without := heap()
	runtime.KeepAlive(c)
	perConn, own := (with-without)/idleConns, (with-plain)/idleConns
	t.Logf("%d bytes of heap for an idle connection with its net.Conn, %d more than before it was taken over", perConn, own)
	if perConn > bound {
		t.Errorf("%d bytes for an idle connection, at most %d", perConn, bound)
	}
}

func TestNoInternalMemoryIsHeldWhileIdle(t *testing.T) {
	for _, kind := range []string{"nil Read", "ReadBuf"} {
		t.Run(kind, func(t *testing.T) {
			read := readNothing
			if kind == "ReadBuf" {
				read = func(c *quietCrowd, server net.Conn) error { return c.w.ReadBuf(nil, server, 0, time.Time{}) }
			}
			c := newQuietCrowd(t, 100, read)
			if s := c.alloc.Stats(); s.CheckedOut != 0 {
				t.Errorf("%d bytes are out for reads that wait", s.OutBytes)
			}
			for i := range c.send {
				if err := c.send[i](make([]byte, 10)); err != nil {
					t.Fatal(err)
				}
			}
			for n := 0; n < len(c.send); {
				results := c.wait()
				n += len(results)
				for i := range results {
					r := &results[i]
					if r.Buf.Valid() {
						r.Buf.Release()
					}
					if err := read(c, r.Conn); err != nil {
						t.Fatal(err)
					}
				}
			}
			stop := c.park()
			defer stop()
			yieldUntil(t, "the watcher's memory to come back", func() bool { return c.alloc.Stats().CheckedOut == 0 })
		})
	}
}

// boundedRounds collects what was sent to all connections and watches how much
// memory is out with each batch.
func (c *quietCrowd) boundedRounds(total int, bound int64) {
	c.t.Helper()
	most, rounds := int64(0), 0
	for n := 0; n < total; rounds++ {
		for _, r := range c.wait() {
			n += r.Size
			if n < total {
				if err := c.w.Read(nil, r.Conn, nil); err != nil {
					c.t.Fatal(err)
				}
			}
		}
		most = max(most, c.alloc.Stats().OutBytes)
	}
	c.t.Logf("%d bytes in %d rounds, at most %d bytes of memory at once", total, rounds, most)
	if most > bound {
		c.t.Errorf("%d bytes of memory at once, at most %d", most, bound)
	}
}

func TestMemoryOfNilReadsIsBoundedPerBatch(t *testing.T) {
	const each, bound = 4 << 10, 2 << 20
	for _, first := range []string{"read first", "data first"} {
		t.Run(first, func(t *testing.T) {
			read := readNothing
			if first == "data first" {
				read = nil
			}
			c := newQuietCrowd(t, idleConns, read)
			for _, send := range c.send {
				if err := send(make([]byte, each)); err != nil {
					t.Fatal(err)
				}
			}
			if read == nil {
				for _, s := range c.servers {
					if err := c.w.Read(nil, s, nil); err != nil {
						t.Fatal(err)
					}
				}
				if out := c.alloc.Stats().OutBytes; out > bound {
					t.Errorf("%d bytes of memory by submissions alone", out)
				}
			}
			c.boundedRounds(idleConns*each, bound)
		})
	}
}

// A few bytes for each of many connections take little memory, whatever a read
// may return at most.
func TestMemoryFollowsWhatHasCome(t *testing.T) {
	const conns, each, bound = 1000, 16, 128 << 10
	c := newQuietCrowd(t, conns, readNothing)
	for _, send := range c.send {
		if err := send(make([]byte, each)); err != nil {
			t.Fatal(err)
		}
	}
	c.boundedRounds(conns*each, bound)

	counted := newQuietCrowd(t, conns, func(c *quietCrowd, server net.Conn) error {
		return c.w.ReadBuf(nil, server, aio.DefaultBufferSize, time.Time{})
	})
	for _, send := range counted.send {
		if err := send(make([]byte, each)); err != nil {
			t.Fatal(err)
		}
	}
	var kept []mem.Buf
	for len(kept) < conns {
		results := counted.wait()
		for i := range results {
			kept = append(kept, results[i].Buf)
		}
	}
	out := counted.alloc.Stats().OutBytes
	for i := range kept {
		kept[i].Release()
	}
	if out > bound {
		t.Errorf("%d Bufs of %d bytes keep %d bytes, at most %d", conns, each, out, bound)
	}
}
