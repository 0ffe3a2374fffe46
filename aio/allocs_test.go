package aio_test

import (
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// A quietEcho is a watcher whose WaitIO the test calls itself, so that nothing
// else runs while allocations are counted.
type quietEcho struct {
	t       *testing.T
	w       *aio.Watcher
	alloc   *mem.Allocator
	clients []net.Conn
	servers []net.Conn
	message []byte
	answer  []byte
}

const quietSize = 128

// newQuietEcho connects n clients to a watcher on the system's poller.
func newQuietEcho(t *testing.T, n int) *quietEcho {
	t.Helper()
	if sys.Race || sys.Asan || invariant.Enabled {
		t.Skip("allocations are not counted in this build, whose checks allocate")
	}
	e := &quietEcho{t: t, alloc: mem.New(mem.Options{Name: t.Name()}), message: make([]byte, quietSize), answer: make([]byte, quietSize)}
	upstream(7).fill(e.message, 0)
	var err error
	if e.w, err = aio.NewWatcherOptions(aio.Options{Allocator: e.alloc}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.w.Close() })
	if d, reason := e.w.Driver(); d == aio.Std {
		t.Skipf("no poller here (%s), and goroutines allocate", reason)
	}
	maker := newPairMaker(t, "tcp")
	for range n {
		server, client := maker.mustPair(t)
		e.servers, e.clients = append(e.servers, server), append(e.clients, client)
	}
	return e
}

// check fails the test on an error. It is a method so that the calls of the
// steady state need no closure.
func (e *quietEcho) check(err error) {
	if err != nil {
		e.t.Helper()
		e.t.Fatal(err)
	}
}

// round is one echo on every connection: answer is called with every completion
// and has to write the bytes back and to submit the next read.
func (e *quietEcho) round(answer func(r *aio.OpResult)) {
	for _, c := range e.clients {
		_, err := c.Write(e.message)
		e.check(err)
	}
	for read, wrote := 0, 0; read < len(e.clients) || wrote < len(e.clients); {
		results, err := e.w.WaitIO()
		e.check(err)
		for i := range results {
			r := &results[i]
			e.check(r.Error)
			if r.Size != quietSize {
				e.t.Fatalf("%v of %d bytes", r.Operation, r.Size)
			}
			if r.Operation == aio.OpWrite {
				wrote++
			} else {
				read++
			}
			answer(r)
		}
	}
	for _, c := range e.clients {
		_, err := io.ReadFull(c, e.answer)
		e.check(err)
		if i := upstream(7).differs(e.answer, 0); i >= 0 {
			e.t.Fatalf("byte %d of an echo is another", i)
		}
	}
}

// measure counts allocations in rounds, after some that warm up. want is for a
// round, that is one read and one write on each connection.
func (e *quietEcho) measure(want float64, answer func(r *aio.OpResult)) {
	e.t.Helper()
	// A collection would empty the pools.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	for range 20 {
		e.round(answer)
	}
	if got := testing.AllocsPerRun(50, func() { e.round(answer) }); got != want {
		e.t.Errorf("%v allocations in a round of %d echoes, want %v", got, len(e.clients), want)
	}
}

const quietConns = 20

func TestAnEchoWithAnOwnBufferAllocatesNothing(t *testing.T) {
	e := newQuietEcho(t, quietConns)
	for _, s := range e.servers {
		e.check(e.w.Read(nil, s, make([]byte, quietSize)))
	}
	e.measure(0, func(r *aio.OpResult) {
		if r.Operation == aio.OpRead {
			e.check(e.w.Write(nil, r.Conn, r.Buffer))
		} else {
			e.check(e.w.Read(nil, r.Conn, r.Buffer))
		}
	})
}

func TestAnEchoWithDeadlinesAllocatesNothing(t *testing.T) {
	e := newQuietEcho(t, quietConns)
	soon := func() time.Time { return time.Now().Add(time.Hour) }
	for _, s := range e.servers {
		e.check(e.w.ReadTimeout(nil, s, make([]byte, quietSize), soon()))
	}
	e.measure(0, func(r *aio.OpResult) {
		if r.Operation == aio.OpRead {
			e.check(e.w.WriteTimeout(nil, r.Conn, r.Buffer, soon()))
		} else {
			e.check(e.w.ReadFull(nil, r.Conn, r.Buffer, soon()))
		}
	})
}

func TestAnEchoWithNilBuffersAllocatesNothing(t *testing.T) {
	e := newQuietEcho(t, quietConns)
	for _, s := range e.servers {
		e.check(e.w.Read(nil, s, nil))
	}
	out := make([]byte, quietSize)
	copy(out, e.message) // one buffer for all writes, which only look at it
	e.measure(0, func(r *aio.OpResult) {
		if r.Operation == aio.OpRead {
			e.check(e.w.Write(nil, r.Conn, out))
			e.check(e.w.Read(nil, r.Conn, nil))
		}
	})
}

func TestAnEchoByReadBufAndWriteBufAllocatesNothing(t *testing.T) {
	e := newQuietEcho(t, quietConns)
	for _, s := range e.servers {
		e.check(e.w.ReadBuf(nil, s, 0, time.Time{}))
	}
	e.measure(0, func(r *aio.OpResult) {
		if r.Operation == aio.OpRead {
			e.check(e.w.WriteBuf(nil, r.Conn, r.Buf, time.Time{}))
			e.check(e.w.ReadBuf(nil, r.Conn, 0, time.Time{}))
		}
	})
}

// A Memory is given away with every WriteMemory, so that the caller makes one
// for each: that is what is allocated, and nothing else.
func TestAnEchoByWriteMemoryAllocatesTheMemoryOnly(t *testing.T) {
	e := newQuietEcho(t, quietConns)
	for _, s := range e.servers {
		e.check(e.w.ReadBuf(nil, s, 0, time.Time{}))
	}
	e.measure(quietConns, func(r *aio.OpResult) {
		if r.Operation == aio.OpRead {
			e.check(e.w.WriteMemory(nil, r.Conn, mem.NewMemory(r.Buf), time.Time{}))
			e.check(e.w.ReadBuf(nil, r.Conn, 0, time.Time{}))
		}
	})
}

// A context that is a value of the program's own, not a pointer, is boxed by the
// caller once. Handing it over and back costs nothing.
func TestAContextValueIsHandedOverWithoutAnAllocation(t *testing.T) {
	e := newQuietEcho(t, quietConns)
	contexts := make([]any, quietConns)
	for i, s := range e.servers {
		contexts[i] = 1000 + i
		e.check(e.w.Read(contexts[i], s, make([]byte, quietSize)))
	}
	e.measure(0, func(r *aio.OpResult) {
		i := r.Context.(int) - 1000
		if e.servers[i] != r.Conn {
			e.t.Fatal("another connection's context")
		}
		if r.Operation == aio.OpRead {
			e.check(e.w.Write(contexts[i], r.Conn, r.Buffer))
		} else {
			e.check(e.w.Read(contexts[i], r.Conn, r.Buffer))
		}
	})
}
