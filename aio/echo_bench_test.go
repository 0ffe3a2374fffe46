package aio_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// The echo benchmarks count whole messages: one iteration is one message that
// the client has written, the server has read whole (ReadFull) and written back,
// and the client has read whole. Bytes are counted once for an echo. Server and
// client share the process and its processors, and the allocations of both are
// reported; the client is a plain net.Conn with Write and io.ReadFull, which
// allocates nothing, so that all figures are the server's, and the client is as
// cheap as a goroutine per connection can make it. What decides how the watcher
// compares with others is the program's "bench echo", with the client in a
// process of its own.

func BenchmarkEcho128B(b *testing.B) { benchmarkEcho(b, 128) }
func BenchmarkEcho1K(b *testing.B)   { benchmarkEcho(b, 1<<10) }
func BenchmarkEcho4K(b *testing.B)   { benchmarkEcho(b, 4<<10) }
func BenchmarkEcho64K(b *testing.B)  { benchmarkEcho(b, 64<<10) }
func BenchmarkEcho128K(b *testing.B) { benchmarkEcho(b, 128<<10) }

func BenchmarkEcho128BParallel(b *testing.B) { benchmarkEchoParallel(b, 128) }
func BenchmarkEcho1KParallel(b *testing.B)   { benchmarkEchoParallel(b, 1<<10) }
func BenchmarkEcho4KParallel(b *testing.B)   { benchmarkEchoParallel(b, 4<<10) }
func BenchmarkEcho64KParallel(b *testing.B)  { benchmarkEchoParallel(b, 64<<10) }
func BenchmarkEcho128KParallel(b *testing.B) { benchmarkEchoParallel(b, 128<<10) }

// parallelEchoes is how many connections a processor has in the parallel
// benchmarks: enough that completions come in batches.
const parallelEchoes = 16

// wholeEchoes serves echoes of messages of size bytes on a new watcher until b
// ends. dial opens one more connection.
func wholeEchoes(b *testing.B, size int) (dial func() net.Conn) {
	w, err := aio.NewWatcher()
	if err != nil {
		b.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- serveWholeEchoes(w) }()
	b.Cleanup(func() {
		_ = w.Close()
		if err := <-stopped; err != nil {
			b.Errorf("server: %v", err)
		}
	})
	maker := newPairMaker(b, "tcp")
	return func() net.Conn {
		server, client := maker.mustPair(b)
		if err := client.SetDeadline(time.Time{}); err != nil {
			b.Fatal(err)
		}
		if err := w.ReadFull(nil, server, make([]byte, size), time.Time{}); err != nil {
			b.Fatal(err)
		}
		return client
	}
}

// serveWholeEchoes writes back what was read and reads into what was written,
// until the watcher is closed or an operation fails in a way that it should not.
func serveWholeEchoes(w *aio.Watcher) error {
	for {
		results, err := w.WaitIO()
		if err == aio.ErrWatcherClosed {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range results {
			r := &results[i]
			switch {
			case r.Error != nil: // the client is done
				err = w.Free(r.Conn)
			case r.Size != len(r.Buffer):
				err = fmt.Errorf("%v of %d bytes completed with %d", r.Operation, len(r.Buffer), r.Size)
			case r.Operation == aio.OpRead:
				err = w.Write(nil, r.Conn, r.Buffer)
			default:
				err = w.ReadFull(nil, r.Conn, r.Buffer, time.Time{})
			}
			// Close may come between the last echo and the next read.
			if err != nil && err != aio.ErrWatcherClosed {
				return err
			}
		}
	}
}

// An echoClient is one connection of a benchmark and its buffers.
type echoClient struct {
	conn            net.Conn
	message, answer []byte
	echoes          int
}

func newEchoClient(conn net.Conn, size int) *echoClient {
	c := &echoClient{conn: conn, message: make([]byte, size), answer: make([]byte, size)}
	upstream(1).fill(c.message, 0)
	return c
}

// echo sends the message and reads as many bytes.
func (c *echoClient) echo() error {
	if _, err := c.conn.Write(c.message); err != nil {
		return err
	}
	c.echoes++
	_, err := io.ReadFull(c.conn, c.answer)
	return err
}

// check looks at the last echo.
func (c *echoClient) check(b *testing.B) {
	if i := upstream(1).differs(c.answer, 0); c.echoes > 0 && i >= 0 {
		b.Errorf("byte %d of the last echo is another", i)
	}
}

func benchmarkEcho(b *testing.B, size int) {
	c := newEchoClient(wholeEchoes(b, size)(), size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := c.echo(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(c.echoes)/b.Elapsed().Seconds(), "echoes/s")
	c.check(b)
}

func benchmarkEchoParallel(b *testing.B, size int) {
	dial := wholeEchoes(b, size)
	b.SetParallelism(parallelEchoes)
	// RunParallel starts so many goroutines for each processor.
	clients := make(chan *echoClient, parallelEchoes*runtime.GOMAXPROCS(0))
	for range cap(clients) {
		clients <- newEchoClient(dial(), size)
	}
	var echoes atomic.Int64
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := <-clients
		for pb.Next() {
			if err := c.echo(); err != nil {
				b.Error(err)
				return
			}
		}
		echoes.Add(int64(c.echoes))
		c.check(b)
	})
	b.StopTimer()
	if n := echoes.Load(); n != int64(b.N) {
		b.Errorf("%d echoes of %d", n, b.N)
	}
	b.ReportMetric(float64(echoes.Load())/b.Elapsed().Seconds(), "echoes/s")
}
