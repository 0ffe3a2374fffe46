package sluice_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// recordedConn notes the read deadlines that are set.
type recordedConn struct {
	net.Conn
	mu   sync.Mutex
	last time.Time
	sets int
}

func (c *recordedConn) SetReadDeadline(d time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = d
	c.sets++
	return c.Conn.SetReadDeadline(d)
}

func (c *recordedConn) deadline() (last time.Time, sets int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.sets
}

// TestTimeoutBoundsEachWait runs in fake time: the wait that is too long is
// exactly as long as was set, and a stream that always comes in time may take
// as long as it likes.
func TestTimeoutBoundsEachWait(t *testing.T) {
	const d = time.Minute
	for _, c := range []struct {
		name string
		open func(t *testing.T) (r *sluice.BufReader, send func(string))
	}{
		{"pipe", func(t *testing.T) (*sluice.BufReader, func(string)) {
			near, far := pipePair(t)
			return readerOf(t, paranoid(t), 0, near), func(s string) { write(t, far, s) }
		}},
		{"chan", func(t *testing.T) (*sluice.BufReader, func(string)) {
			r := sluice.NewBufReaderChan(0)
			t.Cleanup(r.Recycle)
			return r, func(s string) { r.Mouth <- []byte(s) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, send := c.open(t)
				if err := r.SetTimeout(d); err != nil {
					t.Fatal(err)
				}
				go func() {
					for range 10 {
						<-time.After(d - time.Second)
						send("x")
					}
				}()
				start := time.Now()
				if p, err := r.Next(10); len(p) != 10 || err != nil {
					t.Fatalf("bytes that came in time: %q, %v", p, err)
				}
				if took := time.Since(start); took != 10*(d-time.Second) {
					t.Errorf("that took %v", took)
				}
				go send("abc")
				start = time.Now()
				_, err := r.Next(10)
				var ne net.Error
				if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
					t.Fatalf("bytes that did not come: %v", err)
				}
				if took := time.Since(start); took != d {
					t.Errorf("the wait took %v, want %v", took, d)
				}
				if r.Buffered() != 3 {
					t.Errorf("%d bytes are buffered, 3 came", r.Buffered())
				}
				// Without it a wait has no end of its own.
				if err := r.SetTimeout(0); err != nil {
					t.Fatal(err)
				}
				go func() {
					<-time.After(100 * d)
					send("defghij")
				}()
				if p, err := r.Next(10); string(p) != "abcdefghij" || err != nil {
					t.Errorf("without a timeout: %q, %v", p, err)
				}
			})
		})
	}
}

func TestTimeoutOverSockets(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		near, far := streamPair(t, network)
		r := readerOf(t, paranoid(t), 0, near)
		if err := r.SetTimeout(time.Millisecond); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err := r.ReadByte()
			var ne net.Error
			if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
				t.Fatalf("%s: %v", network, err)
			}
		}
		if err := r.SetTimeout(0); err != nil {
			t.Fatal(err)
		}
		goTest(t, func() { write(t, far, "x") })
		mustReadByte(t, r, 'x')
	}
}

// TestTimeoutOverAPipeThatHasEnded: net.Pipe refuses deadlines when its other
// end is closed, and that is the end of the stream, no error.
func TestTimeoutOverAPipeThatHasEnded(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	r := readerOf(t, paranoid(t), 0, near)
	if err := r.SetTimeout(time.Hour); err != nil {
		t.Fatal(err)
	}
	goTest(t, func() {
		_, _ = far.Write([]byte("half"))
		_ = far.Close()
	})
	if _, err := r.Next(5); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("inside: %v", err)
	}
	if p, err := r.Next(4); string(p) != "half" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := r.SetTimeout(0); err != nil {
		t.Errorf("the end of the timeout: %v", err)
	}
	_ = near.Close()
	if _, err := r.ReadByte(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after Close: %v", err)
	}
}

func TestTimeoutIsRefusedWhereThereAreNoDeadlines(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, r := range map[string]*sluice.BufReader{
		"reader": readerOf(t, paranoid(t), 0, strings.NewReader("x")),
		"bytes":  sluice.NewBufReaderBytes([]byte("x")),
		"nil":    readerOf(t, paranoid(t), 0, nil),
		"file":   readerOf(t, paranoid(t), 0, file),
	} {
		if err := r.SetTimeout(time.Second); !errors.Is(err, os.ErrNoDeadline) {
			t.Errorf("%s: %v", name, err)
		}
		r.Recycle()
		if err := r.SetTimeout(time.Second); err != sluice.ErrClosed {
			t.Errorf("%s, recycled: %v", name, err)
		}
	}
	r := readerOf(t, paranoid(t), 0, strings.NewReader("x"))
	if text := panicOf(func() { _ = r.SetTimeout(-1) }); !strings.Contains(text, "sluice: ") {
		t.Errorf("a negative timeout: panic %q", text)
	}
}

func TestTimeoutEndsWithTheReadersHoldOfTheConnection(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(r *sluice.BufReader)
	}{
		{"SetTimeout(0)", func(r *sluice.BufReader) { _ = r.SetTimeout(0) }},
		{"Recycle", func(r *sluice.BufReader) { r.Recycle() }},
		{"Reset", func(r *sluice.BufReader) { r.Reset(strings.NewReader("")) }},
		{"Detach", func(r *sluice.BufReader) {
			rest, _ := r.Detach()
			rest.Release()
		}},
	} {
		near, far := pipePair(t)
		conn := &recordedConn{Conn: near}
		r := readerOf(t, paranoid(t), 0, conn)
		if err := r.SetTimeout(time.Hour); err != nil {
			t.Fatal(err)
		}
		goTest(t, func() { write(t, far, "x") })
		mustReadByte(t, r, 'x')
		if last, _ := conn.deadline(); last.IsZero() {
			t.Fatalf("%s: no deadline was set", c.name)
		}
		c.end(r)
		if last, _ := conn.deadline(); !last.IsZero() {
			t.Errorf("after %s the connection has the deadline %v", c.name, last)
		}
	}
}

func TestResetEndsTheTimeout(t *testing.T) {
	near, far := pipePair(t)
	first := &recordedConn{Conn: near}
	r := readerOf(t, mem.Default(), 0, first)
	if err := r.SetTimeout(time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	near2, far2 := pipePair(t)
	second := &recordedConn{Conn: near2}
	r.Reset(second)
	goTest(t, func() { write(t, far2, "y") })
	mustReadByte(t, r, 'y')
	if last, sets := second.deadline(); sets != 0 {
		t.Errorf("a deadline was set for the second connection: %v", last)
	}
	_ = far
}

// ownTimeouts is a connection whose deadlines end in an error of its own, as those
// of some multiplexers and tunnels do.
type ownTimeouts struct{ net.Conn }

type ownTimeout struct{}

func (ownTimeout) Error() string   { return "deadline of a stream" }
func (ownTimeout) Timeout() bool   { return true }
func (ownTimeout) Temporary() bool { return true }

func (c ownTimeouts) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ownTimeout{}
	}
	return n, err
}

func TestTimeoutAndContextOfAConnectionWithATimeoutErrorOfItsOwn(t *testing.T) {
	for name, call := range map[string]func(r *sluice.BufReader) error{
		"Next":          func(r *sluice.BufReader) error { _, err := r.Next(10); return err },
		"ReadBytes":     discardBytesOf(100_000),
		"Read":          func(r *sluice.BufReader) error { _, err := r.Read(make([]byte, 8)); return err },
		"Read of a lot": func(r *sluice.BufReader) error { _, err := r.Read(make([]byte, 8192)); return err },
		"ReadSlice":     func(r *sluice.BufReader) error { _, err := r.ReadSlice('|'); return err },
		"Skip":          func(r *sluice.BufReader) error { return r.Skip(10) },
	} {
		t.Run(name, func(t *testing.T) {
			near, far := tcpPair(t)
			r := readerOf(t, paranoid(t), 0, ownTimeouts{near})
			if err := r.SetTimeout(time.Millisecond); err != nil {
				t.Fatal(err)
			}
			err := call(r)
			var own ownTimeout
			if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &own) || !os.IsTimeout(err) {
				t.Errorf("after the timeout: %v", err)
			}
			if err := r.SetTimeout(0); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			r.SetContext(ctx)
			reading := make(chan error, 1)
			go func() { reading <- call(r) }()
			untilParked(t, "sluice.(*BufReader)")
			cancel(errCause)
			within(t, "a read whose context has ended", func() { err = <-reading })
			if !errors.Is(err, errCause) {
				t.Errorf("after the context: %v", err)
			}
			// A deadline that the caller has set is his own.
			r.SetContext(context.Background())
			if err := near.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if err := call(r); !errors.As(err, &own) {
				t.Errorf("after a deadline: %v", err)
			}
			if err := near.SetReadDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			write(t, far, "x")
			mustReadByte(t, r, 'x')
		})
	}
}

// The connection's own deadline bounds a whole frame, however its bytes come.
func TestDeadlineOfAWholeFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		var sending sync.WaitGroup
		defer sending.Wait()
		defer near.Close()
		sending.Go(func() {
			for _, c := range []byte{0, 0, 0, 6, 1, 2, 3} {
				if _, err := far.Write([]byte{c}); err != nil {
					return
				}
				<-time.After(2 * time.Second)
			}
		})
		r := sluice.NewBufReader(near, sluice.Options{Allocator: mem.New(mem.Options{})})
		defer r.Recycle()
		if _, err := r.Peek(1); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := near.SetReadDeadline(begun.Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadFrame(4, binary.BigEndian, 0); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}
