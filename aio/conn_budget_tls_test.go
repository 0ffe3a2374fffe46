package aio_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Many TLS connections on a budget of a few records: each gets everything, whatever came of its
// records when there was no memory left, and none is closed for it.
func TestTLSConnsWaitForMemory(t *testing.T) {
	for _, driver := range driversHere(t) {
		for _, buf := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, Buf %v", driver, buf), func(t *testing.T) {
				const budget, conns, size = 64 << 10, 64, 100_000
				memory := mem.New(mem.Options{Name: "budget", Budget: budget, Leak: mem.LeakTrace})
				sluicetest.NoLeaks(t, memory)
				closed := make(closings, conns)
				take := func(c *aio.Conn[int], p []byte) error {
					for _, x := range p {
						if x != byte(c.State/7) {
							return fmt.Errorf("byte %d is %d", c.State, x)
						}
						c.State++
					}
					return nil
				}
				h := &aio.ConnHandler[int]{
					TLS: testcert.Server(t),
					Closed: func(c *aio.Conn[int], reason error) {
						if c.State != size {
							reason = fmt.Errorf("%w after %d bytes", reason, c.State)
						}
						closed <- reason
					},
					Refused: func(_ net.Addr, err error) { closed <- err },
				}
				if buf {
					h.Buf = func(c *aio.Conn[int], b mem.Buf) error {
						defer b.Release()
						return take(c, b.Bytes())
					}
				} else {
					h.Data = take
				}
				s := serveConns(t, h, aio.Server{Watchers: 2, Options: aio.Options{Driver: driver, Allocator: memory}})
				said := make([]byte, size)
				for i := range said {
					said[i] = byte(i / 7)
				}
				var clients sync.WaitGroup
				for range conns {
					clients.Go(func() {
						c, err := s.tryDial()
						if err != nil {
							t.Error(err)
							return
						}
						defer c.Close()
						if _, err := c.Write(said); err != nil {
							t.Error(err)
						}
					})
				}
				clients.Wait()
				for range conns {
					if err := closed.wait(t); err != io.EOF {
						t.Errorf("a connection is closed with %v", err)
					}
				}
				s.end()
				if b := memory.Stats().Budget; b.Waiting != 0 {
					t.Errorf("in the end %d wait", b.Waiting)
				}
			})
		}
	}
}

// cutAt lets the first bytes of what is written through, and keeps the others until go on.
type cutAt struct {
	net.Conn
	mu    sync.Mutex
	holds bool
	left  int
	rest  bytes.Buffer
}

func (c *cutAt) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	if c.holds {
		n = min(n, c.left)
		c.left -= n
		c.rest.Write(p[n:])
	}
	if _, err := c.Conn.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// A connection waits with a part of a record while the program keeps all memory. The record goes on
// when that is given back; the server's end, and Close, end the wait.
func TestTLSConnsWaitWithinARecord(t *testing.T) {
	for _, driver := range driversHere(t) {
		for _, how := range []string{"goes on", "Close", "end of the server"} {
			t.Run(driver.String()+"/"+how, func(t *testing.T) {
				const budget, size = 64 << 10, 16 << 10
				memory := mem.New(mem.Options{Name: "budget", Budget: budget, Leak: mem.LeakTrace})
				sluicetest.NoLeaks(t, memory)
				closed, opened := make(closings, 1), make(chan *aio.Conn[int], 1)
				got := make(chan int, 100)
				h := &aio.ConnHandler[int]{
					TLS:    testcert.Server(t),
					Open:   func(c *aio.Conn[int]) error { opened <- c; return nil },
					Data:   func(_ *aio.Conn[int], p []byte) error { got <- len(p); return nil },
					Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
				}
				s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: driver, Allocator: memory}})
				cut := &cutAt{Conn: s.raw()}
				client := tls.Client(cut, s.tls)
				if err := client.Handshake(); err != nil {
					t.Fatal(err)
				}
				c := <-opened
				all := memory.Get(budget)
				cut.mu.Lock()
				cut.holds, cut.left = true, 1000
				cut.mu.Unlock()
				if _, err := client.Write(make([]byte, size)); err != nil {
					t.Fatal(err)
				}
				yieldUntil(t, "a place in the queue, or an end", func() bool { return memory.Stats().Budget.Waiting == 1 || len(closed) > 0 })
				switch how {
				case "goes on":
					all.Release()
					if _, err := cut.Conn.Write(cut.rest.Bytes()); err != nil {
						t.Fatal(err)
					}
					for n := 0; n < size; {
						select {
						case m := <-got:
							n += m
						case err := <-closed:
							t.Fatalf("after %d bytes: %v", n, err)
						}
					}
					s.end()
					if err := closed.wait(t); !errors.Is(err, aio.ErrWatcherClosed) {
						t.Error(err)
					}
				case "Close":
					_ = c.Close()
					if err := closed.wait(t); err != net.ErrClosed {
						t.Error(err)
					}
					s.end()
					all.Release()
				default:
					s.end()
					if err := closed.wait(t); err != aio.ErrWatcherClosed {
						t.Error(err)
					}
					all.Release()
				}
				client.Close()
			})
		}
	}
}

// A handshake that waits for memory with a part of a record ends in time, though nothing reads
// from it meanwhile: what it has lies beyond the budget.
func TestHandshakesThatWaitForMemoryEndInTime(t *testing.T) {
	for _, driver := range driversHere(t) {
		const budget = 64 << 10
		memory := mem.New(mem.Options{Name: "budget", Budget: budget, Leak: mem.LeakTrace})
		sluicetest.NoLeaks(t, memory)
		refused := make(closings, 1)
		h := &aio.ConnHandler[int]{
			TLS:              testcert.Server(t),
			HandshakeTimeout: 50 * time.Millisecond,
			Data:             func(*aio.Conn[int], []byte) error { return nil },
			Refused:          func(_ net.Addr, reason error) { refused <- reason },
		}
		s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: driver, Allocator: memory}})
		all := memory.Get(budget)
		if _, err := s.raw().Write([]byte{22, 3, 1, 2, 0, 1}); err != nil { // of 512 bytes, the first
			t.Fatal(err)
		}
		if err := refused.wait(t); !errors.Is(err, aio.ErrDeadline) {
			t.Errorf("%v: refused with %v", driver, err)
		}
		s.end()
		all.Release()
	}
}

// The peer has ended when there is memory again: what it said before is there, and so is the end.
func TestPeersEndWhileTLSWaitsForMemory(t *testing.T) {
	for _, driver := range driversHere(t) {
		for _, how := range []string{"close_notify", "within a record", "reset"} {
			t.Run(driver.String()+"/"+how, func(t *testing.T) {
				const budget, size = 64 << 10, 16 << 10
				memory := mem.New(mem.Options{Name: "budget", Budget: budget, Leak: mem.LeakTrace})
				sluicetest.NoLeaks(t, memory)
				closed, opened := make(closings, 1), make(chan struct{})
				h := &aio.ConnHandler[int]{
					TLS:    testcert.Server(t),
					Open:   func(*aio.Conn[int]) error { close(opened); return nil },
					Data:   func(c *aio.Conn[int], p []byte) error { c.State += len(p); return nil },
					Closed: func(c *aio.Conn[int], reason error) { closed <- fmt.Errorf("%w after %d bytes", reason, c.State) },
				}
				s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: driver, Allocator: memory}})
				cut := &cutAt{Conn: s.raw()}
				client := tls.Client(cut, s.tls)
				if err := client.Handshake(); err != nil {
					t.Fatal(err)
				}
				<-opened // the handshake is over here too
				all := memory.Get(budget)
				cut.mu.Lock()
				cut.holds, cut.left = true, 1000
				cut.mu.Unlock()
				if _, err := client.Write(make([]byte, size)); err != nil {
					t.Fatal(err)
				}
				yieldUntil(t, "a place in the queue, or an end", func() bool { return memory.Stats().Budget.Waiting == 1 || len(closed) > 0 })
				want, bytes := io.EOF, size
				end := cut.Conn.(*net.TCPConn).CloseWrite // Close would reset: the server's tickets are not read
				switch how {
				case "close_notify":
					// crypto/tls leaves a deadline behind.
					if err := errors.Join(client.CloseWrite(), cut.Conn.SetDeadline(time.Time{})); err != nil {
						t.Fatal(err)
					}
					if _, err := cut.Conn.Write(cut.rest.Bytes()); err != nil {
						t.Fatal(err)
					}
				case "within a record":
					want, bytes = io.ErrUnexpectedEOF, 0
				default:
					want, bytes = resets[0], 0
					end = cut.Conn.Close
					if err := cut.Conn.(*net.TCPConn).SetLinger(0); err != nil {
						t.Fatal(err)
					}
				}
				if err := end(); err != nil {
					t.Fatal(err)
				}
				all.Release()
				if err := closed.wait(t); !errors.Is(err, want) || err.Error() != fmt.Sprintf("%v after %d bytes", errors.Unwrap(err), bytes) {
					t.Errorf("closed with %v, want %v after %d", err, want, bytes)
				}
				s.end()
			})
		}
	}
}
