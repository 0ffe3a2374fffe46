package sluice_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

var errCause = errors.New("the user went home")

// interrupts are the sources under which a context ends a wait.
var interrupts = []struct {
	name string
	open func(t *testing.T) (r *sluice.BufReader, send func(string))
}{
	{"tcp", func(t *testing.T) (*sluice.BufReader, func(string)) {
		near, far := tcpPair(t)
		return readerOf(t, paranoid(t), 0, near), func(s string) { write(t, far, s) }
	}},
	{"unix", func(t *testing.T) (*sluice.BufReader, func(string)) {
		near, far := unixPair(t)
		return readerOf(t, paranoid(t), 0, near), func(s string) { write(t, far, s) }
	}},
	{"wrapped tcp", func(t *testing.T) (*sluice.BufReader, func(string)) {
		near, far := tcpPair(t)
		return readerOf(t, paranoid(t), 0, struct{ net.Conn }{near}), func(s string) { write(t, far, s) }
	}},
	{"pipe", func(t *testing.T) (*sluice.BufReader, func(string)) {
		near, far := pipePair(t)
		return readerOf(t, paranoid(t), 0, near), func(s string) { write(t, far, s) }
	}},
	{"chan", func(t *testing.T) (*sluice.BufReader, func(string)) {
		r := sluice.NewBufReaderChan(0)
		t.Cleanup(r.Recycle)
		return r, func(s string) { r.Mouth <- []byte(s) }
	}},
}

func TestContextEndsAReadThatWaits(t *testing.T) {
	for _, c := range interrupts {
		t.Run(c.name, func(t *testing.T) {
			r, send := c.open(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			r.SetContext(ctx)
			go send("abc")
			reading := make(chan error, 1)
			go func() {
				_, err := r.Next(10)
				reading <- err
			}()
			untilParked(t, "(*BufReader).Next")
			cancel(errCause)
			var err error
			within(t, "the read", func() { err = <-reading })
			var e *sluice.Error
			if !errors.Is(err, errCause) || !errors.As(err, &e) {
				t.Fatalf("the read ended with %v", err)
			}
			if r.TotalRead() != int64(r.Buffered()) {
				t.Errorf("%d of %d bytes are left", r.Buffered(), r.TotalRead())
			}
			// It stays ended, also where bytes have come.
			if _, err := r.Next(10); !errors.Is(err, errCause) {
				t.Errorf("the next read ended with %v", err)
			}
			r.SetContext(context.Background())
			go send("defghij")
			within(t, "a read without the context", func() {
				if p, err := r.Next(10); string(p) != "abcdefghij" || err != nil {
					t.Errorf("without the context: %q, %v", p, err)
				}
			})
		})
	}
}

func TestContextThatHasEndedEndsReadsAtOnce(t *testing.T) {
	for _, c := range interrupts {
		t.Run(c.name, func(t *testing.T) {
			r, send := c.open(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(errCause)
			r.SetContext(ctx)
			within(t, "the read", func() {
				if _, err := r.ReadByte(); !errors.Is(err, errCause) {
					t.Errorf("it ended with %v", err)
				}
			})
			// Another context takes its place.
			r.SetContext(context.Background())
			go send("x")
			within(t, "the next read", func() { mustReadByte(t, r, 'x') })
		})
	}
}

func TestContextIsLookedAtBeforeEachReadOfOtherSources(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	turn := 0
	r := readerOf(t, paranoid(t), 0, readerFunc(func(p []byte) (int, error) {
		if turn++; turn == 3 {
			cancel(errCause)
		}
		return copy(p, "x"), nil
	}))
	r.SetContext(ctx)
	if err := r.Skip(100); !errors.Is(err, errCause) {
		t.Errorf("%v", err)
	}
	if turn != 3 {
		t.Errorf("%d reads", turn)
	}
	if p, err := r.ReadSlice('y'); len(p) != 0 || !errors.Is(err, errCause) {
		t.Errorf("ReadSlice: %q, %v", p, err)
	}
}

func TestContextWithADeadlineIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := pipePair(t)
		r := readerOf(t, paranoid(t), 0, near)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r.SetContext(ctx)
		start := time.Now()
		_, err := r.ReadByte()
		var ne net.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
			t.Errorf("%v", err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the wait took %v", took)
		}
	})
}

func TestContextAndTimeoutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := pipePair(t)
		r := readerOf(t, paranoid(t), 0, near)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 90*time.Second, errCause)
		defer cancel()
		r.SetContext(ctx)
		if err := r.SetTimeout(time.Minute); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := r.ReadByte(); err == nil || errors.Is(err, errCause) || time.Since(start) != time.Minute {
			t.Errorf("first the timeout: %v after %v", err, time.Since(start))
		}
		if _, err := r.ReadByte(); !errors.Is(err, errCause) || time.Since(start) != 90*time.Second {
			t.Errorf("then the context: %v after %v", err, time.Since(start))
		}
		r.SetContext(context.Background())
		if err := r.SetTimeout(0); err != nil {
			t.Fatal(err)
		}
		go func() {
			<-time.After(time.Hour)
			write(t, far, "x")
		}()
		mustReadByte(t, r, 'x')
	})
}

func TestContextLeavesNoDeadlineBehind(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(r *sluice.BufReader)
	}{
		{"SetContext", func(r *sluice.BufReader) { r.SetContext(context.Background()) }},
		{"Recycle", func(r *sluice.BufReader) { r.Recycle() }},
		{"Reset", func(r *sluice.BufReader) { r.Reset(strings.NewReader("")) }},
		{"Detach", func(r *sluice.BufReader) {
			rest, _ := r.Detach()
			rest.Release()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, _ := pipePair(t)
				// The deadline that the context sets takes its time.
				conn := &slowDeadline{Conn: near, gate: make(chan struct{})}
				r := readerOf(t, paranoid(t), 0, conn)
				ctx, cancel := context.WithCancel(t.Context())
				r.SetContext(ctx)
				cancel()
				synctest.Wait()
				go c.end(r)
				synctest.Wait()
				close(conn.gate)
				synctest.Wait()
				if !conn.last.IsZero() {
					t.Errorf("the connection has the deadline %v", conn.last)
				}
			})
		})
	}
}

// slowDeadline is a connection on which it takes until gate is closed to move
// the deadline to the past.
type slowDeadline struct {
	net.Conn
	gate chan struct{}
	last time.Time
}

func (c *slowDeadline) SetReadDeadline(d time.Time) error {
	if !d.IsZero() {
		<-c.gate
	}
	c.last = d
	return c.Conn.SetReadDeadline(d)
}

func TestContextOfARecycledReaderDoesNothing(t *testing.T) {
	near, far := pipePair(t)
	conn := &recordedConn{Conn: near}
	r := readerOf(t, paranoid(t), 0, conn)
	ctx, cancel := context.WithCancel(context.Background())
	r.SetContext(ctx)
	r.Recycle()
	r.SetContext(ctx)
	cancel()
	goTest(t, func() { write(t, far, "x") })
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Errorf("a context of a reader that is recycled ended a read: %v", err)
	}
}

// What came before the end is not lost because the context has ended, too: io.EOF says that
// nothing is left.
func TestContextThatHasEndedLeavesTheRestBeforeTheEndToReadSlice(t *testing.T) {
	for _, end := range []error{io.EOF, errSource} {
		for _, cause := range []error{errCause, io.EOF} {
			r := readerOf(t, paranoid(t), 0, replies(reply{"rest", end}))
			ctx, cancel := context.WithCancelCause(context.Background())
			r.SetContext(ctx)
			if _, err := r.Peek(4); err != nil {
				t.Fatal(err)
			}
			cancel(cause)
			if p, err := r.ReadSlice('\n'); string(p) != "rest" || err != end {
				t.Errorf("%q, %v; want all that is left and %v", p, err, end)
			}
			if p, err := r.ReadSlice('\n'); len(p) != 0 || !errors.Is(err, cause) {
				t.Errorf("then %q, %v; want %v", p, err, cause)
			}
		}
	}
}

// TestContextThatHasEndedLeavesWhatThereIs: more may come when another is set.
func TestContextThatHasEndedLeavesWhatThereIs(t *testing.T) {
	for _, cause := range []error{errCause, io.EOF} {
		r := readerOf(t, paranoid(t), 0, replies(reply{"begin ", nil}, reply{"end\n", nil}))
		ctx, cancel := context.WithCancelCause(t.Context())
		r.SetContext(ctx)
		if _, err := r.Peek(1); err != nil {
			t.Fatal(err)
		}
		cancel(cause)
		if p, err := r.ReadSlice('\n'); p != nil || !errors.Is(err, cause) {
			t.Errorf("ReadSlice: %q, %v", p, err)
		}
		if p, err := r.ReadLineSlice(); p != nil || !errors.Is(err, cause) {
			t.Errorf("ReadLineSlice: %q, %v", p, err)
		}
		r.SetContext(context.Background())
		if p, err := r.ReadSlice('\n'); string(p) != "begin end\n" || err != nil {
			t.Errorf("then %q, %v", p, err)
		}
	}
}

// TestContextIsTheCauseOfADeadlineThatCameWithBytes too.
func TestContextIsTheCauseOfADeadlineThatCameWithBytes(t *testing.T) {
	for _, n := range []int{1, 8192} {
		r := readerOf(t, paranoid(t), 0, readerFunc(func(p []byte) (int, error) { return copy(p, "abc"), os.ErrDeadlineExceeded }))
		ctx, cancel := context.WithCancelCause(t.Context())
		r.SetContext(ctx)
		if p, err := r.Next(3); string(p) != "abc" || err != nil {
			t.Fatalf("%q, %v", p, err)
		}
		cancel(errCause)
		if _, err := r.Read(make([]byte, n)); !errors.Is(err, errCause) {
			t.Errorf("Read of %d bytes: %v", n, err)
		}
	}
}
