package netsim_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/netsim"
)

// Times in this file are those of a bubble: time passing is what is tested,
// and none of it is waited for.

func wantTimeout(t *testing.T, err error) {
	t.Helper()
	var timeout net.Error
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("error is %v, want a timeout", err)
	}
}

// Ends with and without a delay take different ways inside.
var slowAndPlain = map[string]netsim.Options{
	"plain": {},
	"slow":  {Latency: 10 * time.Second},
}

func TestReadDeadlineEndsAWaitAndLosesNothing(t *testing.T) {
	for name, o := range slowAndPlain {
		t.Run(name, func(t *testing.T) {
			between(t, netsim.Options{}, o, func(t *testing.T, a, b *netsim.Conn) {
				go func() {
					time.Sleep(time.Minute)
					write(t, a, []byte("late"))
				}()
				begin := time.Now()
				for i := range 3 {
					b.SetReadDeadline(time.Now().Add(time.Second))
					n, err := b.Read(make([]byte, 10))
					if n != 0 || time.Since(begin) != time.Duration(i+1)*time.Second {
						t.Errorf("Read returned %d bytes after %v", n, time.Since(begin))
					}
					wantTimeout(t, err)
				}
				b.SetReadDeadline(time.Time{})
				if got := read(t, b, 4); string(got) != "late" || time.Since(begin) != time.Minute+o.Latency {
					t.Errorf("%q came after %v", got, time.Since(begin))
				}
			})
		})
	}
}

func TestReadDeadlineDuringLatency(t *testing.T) {
	between(t, netsim.Options{}, slowAndPlain["slow"], func(t *testing.T, a, b *netsim.Conn) {
		begin := time.Now()
		write(t, a, []byte("in flight"))
		b.SetReadDeadline(begin.Add(9 * time.Second))
		_, err := b.Read(make([]byte, 10))
		wantTimeout(t, err)
		if d := time.Since(begin); d != 9*time.Second {
			t.Errorf("timeout after %v, want 9s", d)
		}
		b.SetReadDeadline(begin.Add(11 * time.Second))
		if got := read(t, b, 9); string(got) != "in flight" || time.Since(begin) != 10*time.Second {
			t.Errorf("%q came after %v", got, time.Since(begin))
		}
	})
}

func TestPassedDeadlineRefusesWhatIsThere(t *testing.T) {
	between(t, netsim.Options{}, slowAndPlain["slow"], func(t *testing.T, a, b *netsim.Conn) {
		write(t, a, []byte("there"))
		time.Sleep(time.Minute)
		b.SetDeadline(time.Now().Add(-time.Second))
		_, err := b.Read(make([]byte, 10))
		wantTimeout(t, err)
		_, err = b.Write([]byte("x"))
		wantTimeout(t, err)
		b.SetDeadline(time.Time{})
		if got := read(t, b, 5); string(got) != "there" {
			t.Errorf("then came %q", got)
		}
	})
}

// A BufReader that waits for memory finds a passed deadline so, as with net.Pipe.
func TestPassedDeadlineRefusesAReadOfNothing(t *testing.T) {
	for name, o := range slowAndPlain {
		t.Run(name, func(t *testing.T) {
			a, b := netsim.Pipe(o, netsim.Options{})
			defer b.Close()
			defer a.Close()
			if n, err := a.Read(nil); n != 0 || err != nil {
				t.Errorf("without a deadline: %d, %v", n, err)
			}
			_ = a.SetReadDeadline(time.Unix(1, 0))
			_, err := a.Read(nil)
			wantTimeout(t, err)
			_ = a.SetReadDeadline(time.Time{})
			if n, err := a.Read(nil); n != 0 || err != nil {
				t.Errorf("when it is taken away: %d, %v", n, err)
			}
		})
	}
}

func TestDeadlineMayChangeDuringAWait(t *testing.T) {
	for name, o := range slowAndPlain {
		t.Run(name, func(t *testing.T) {
			between(t, netsim.Options{}, o, func(t *testing.T, a, b *netsim.Conn) {
				begin := time.Now()
				b.SetReadDeadline(begin.Add(2 * time.Second))
				go func() {
					time.Sleep(time.Second)
					b.SetReadDeadline(begin.Add(time.Hour)) // later
					time.Sleep(time.Second)
					b.SetReadDeadline(time.Time{}) // never
					time.Sleep(time.Hour)
					b.SetReadDeadline(begin.Add(2 * time.Hour)) // again
					time.Sleep(time.Second)
					b.SetReadDeadline(time.Now()) // at once
				}()
				_, err := b.Read(make([]byte, 10))
				wantTimeout(t, err)
				if d := time.Since(begin); d != time.Hour+3*time.Second {
					t.Errorf("timeout after %v", d)
				}
			})
		})
	}
}

func TestWriteDeadlineSaysHowMuchWasPassedOn(t *testing.T) {
	between(t, netsim.Options{Out: netsim.Direction{Bandwidth: 1000}}, netsim.Options{}, func(t *testing.T, a, b *netsim.Conn) {
		got := make(chan int64)
		go func() {
			n, _ := io.Copy(io.Discard, b)
			got <- n
		}()
		begin := time.Now()
		a.SetWriteDeadline(begin.Add(time.Second + time.Millisecond))
		n, err := a.Write(make([]byte, 5000))
		wantTimeout(t, err)
		// Portions of 10 bytes at 0, 10, ... 1000 ms.
		if d := time.Since(begin); n != 1010 || d != 1001*time.Millisecond {
			t.Errorf("Write returned %d after %v, want 1010 after 1.001s", n, d)
		}
		a.Close()
		if passed := <-got; passed != int64(n) {
			t.Errorf("Write returned %d, %d bytes arrived", n, passed)
		}
	})
}

func TestCloseEndsEverythingThatWaits(t *testing.T) {
	waits := map[string]struct {
		o    netsim.Options
		wait func(c *netsim.Conn) error
	}{
		"read, nothing there": {netsim.Options{}, func(c *netsim.Conn) error {
			_, err := c.Read(make([]byte, 1))
			return err
		}},
		"read, delayed, nothing there": {netsim.Options{Latency: time.Hour}, func(c *netsim.Conn) error {
			_, err := c.Read(make([]byte, 1))
			return err
		}},
		"read, delayed, in flight": {netsim.Options{Latency: time.Hour}, func(c *netsim.Conn) error {
			c.SetDeadline(time.Now().Add(24 * time.Hour))
			_, err := c.Read(make([]byte, 1))
			return err
		}},
		"write, nobody reads": {netsim.Options{}, func(c *netsim.Conn) error {
			_, err := c.Write(make([]byte, 1<<20))
			return err
		}},
		"write, at the limit": {netsim.Options{Out: netsim.Direction{Bandwidth: 1}}, func(c *netsim.Conn) error {
			_, err := c.Write(make([]byte, 1<<20))
			return err
		}},
	}
	for name, w := range waits {
		t.Run(name, func(t *testing.T) {
			between(t, w.o, netsim.Options{Latency: time.Millisecond, Window: 4096}, func(t *testing.T, c, other *netsim.Conn) {
				if name == "read, delayed, in flight" {
					write(t, other, []byte("x"))
				}
				errs := make(chan error, 3)
				// The second and third wait for the first.
				for range cap(errs) {
					go func() { errs <- w.wait(c) }()
				}
				synctest.Wait()
				begin := time.Now()
				if err := c.Close(); err != nil {
					t.Errorf("Close returned %v", err)
				}
				for range cap(errs) {
					if err := <-errs; !errors.Is(err, net.ErrClosed) {
						t.Errorf("the wait ended with %v, want net.ErrClosed", err)
					}
				}
				if d := time.Since(begin); d != 0 {
					t.Errorf("the waits ended %v after Close", d)
				}
			})
		})
	}
}

func TestAfterClose(t *testing.T) {
	for name, o := range slowAndPlain {
		t.Run(name, func(t *testing.T) {
			between(t, o, netsim.Options{}, func(t *testing.T, c, other *netsim.Conn) {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				_, readErr := c.Read(make([]byte, 1))
				_, emptyErr := c.Read(nil)
				_, writeErr := c.Write(make([]byte, 1))
				for what, err := range map[string]error{
					"Read":             readErr,
					"empty Read":       emptyErr,
					"Write":            writeErr,
					"Close":            c.Close(),
					"CloseWrite":       c.CloseWrite(),
					"SetDeadline":      c.SetDeadline(time.Now()),
					"SetReadDeadline":  c.SetReadDeadline(time.Now()),
					"SetWriteDeadline": c.SetWriteDeadline(time.Now()),
				} {
					if !errors.Is(err, net.ErrClosed) {
						t.Errorf("%s returned %v, want net.ErrClosed", what, err)
					}
				}
				if _, err := other.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("the other end reads %v, want io.EOF", err)
				}
			})
		})
	}
}

// slowToEnd is a connection whose Read goes on for a while after Close.
type slowToEnd struct {
	net.Conn
	release chan struct{}
}

func (s slowToEnd) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	<-s.release
	return n, err
}

// That no goroutine is left behind is checked by each bubble. This is the one
// thing more: Close itself waits for it.
func TestCloseReturnsWhenItsGoroutineIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, other := net.Pipe()
		defer other.Close()
		release := make(chan struct{})
		c := netsim.NewConn(slowToEnd{inner, release}, slowAndPlain["slow"])
		returned := make(chan error, 2)
		for range cap(returned) {
			go func() { returned <- c.Close() }()
		}
		synctest.Wait()
		if len(returned) != 0 {
			t.Fatal("Close returned while the goroutine was still reading")
		}
		close(release)
		synctest.Wait()
		if len(returned) != 2 || stacks() != "" {
			t.Fatalf("%d of 2 Closes returned; left behind:\n%s", len(returned), stacks())
		}
	})
}

func TestEarlierReadDeadlineDoesNotEndADelayedConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, other := net.Pipe()
		defer other.Close()
		inner.SetReadDeadline(time.Now().Add(time.Second))
		c := netsim.NewConn(inner, slowAndPlain["slow"])
		defer c.Close()
		time.Sleep(time.Minute)
		write(t, other, []byte("late"))
		if got := read(t, c, 4); string(got) != "late" {
			t.Errorf("read %q", got)
		}
	})
}

func TestTwoWritersAtTheLimitDoNotStopABubblesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := netsim.Pipe(netsim.Options{Out: netsim.Direction{Bandwidth: 100}}, netsim.Options{})
		done := make(chan bool, 2)
		for range 2 {
			go func() {
				write(t, a, make([]byte, 500))
				done <- true
			}()
		}
		read(t, b, 1000)
		<-done
		<-done
		a.Close()
		b.Close()
	})
}
