package netsim_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/netsim"
)

func wantReset(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if !errors.Is(err, netsim.ErrReset) || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%s returned %v, want a reset", what, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %q lacks %q", what, err, part)
		}
	}
}

func TestResetAfterBytesIn(t *testing.T) {
	for name, o := range slowAndPlain {
		t.Run(name, func(t *testing.T) {
			o.In.ResetAfter = 10
			between(t, o, netsim.Options{}, func(t *testing.T, a, b *netsim.Conn) {
				wrote := make(chan error)
				go func() {
					_, err := b.Write(make([]byte, 200<<10))
					wrote <- err
				}()
				blocked := make(chan error)
				go func() {
					_, err := b.Read(make([]byte, 1))
					blocked <- err
				}()
				n, err := io.ReadAtLeast(a, make([]byte, 100), 50)
				if n != 10 {
					t.Errorf("%d bytes came before the reset, want 10", n)
				}
				wantReset(t, "Read", err, "read", "after 10 bytes in")
				_, err = a.Write([]byte("x"))
				wantReset(t, "Write on this end", err, "write", "after 10 bytes in")
				wantReset(t, "Write on the other end", <-wrote, "write", "by the other end")
				wantReset(t, "Read on the other end", <-blocked, "read", "by the other end")
				if err := a.Close(); err != nil {
					t.Errorf("Close after a reset returned %v", err)
				}
				if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
					t.Errorf("Read after Close returned %v", err)
				}
			})
		})
	}
}

func TestResetAfterBytesOut(t *testing.T) {
	o := netsim.Options{Out: netsim.Direction{ResetAfter: 25}}
	between(t, o, netsim.Options{}, func(t *testing.T, a, b *netsim.Conn) {
		got := make(chan int64)
		go func() {
			n, err := io.Copy(io.Discard, b)
			wantReset(t, "Read on the other end", err)
			got <- n
		}()
		write(t, a, make([]byte, 10))
		write(t, a, make([]byte, 10))
		n, err := a.Write(make([]byte, 10))
		if n != 5 {
			t.Errorf("the Write that broke returned %d, want 5", n)
		}
		wantReset(t, "the Write that broke", err, "after 25 bytes out")
		if n := <-got; n != 25 {
			t.Errorf("%d bytes arrived, want 25", n)
		}
	})
}

func TestWriteThatEndsAtTheResetSucceeds(t *testing.T) {
	o := netsim.Options{Out: netsim.Direction{ResetAfter: 10}}
	between(t, o, netsim.Options{Latency: time.Millisecond}, func(t *testing.T, a, b *netsim.Conn) {
		write(t, a, make([]byte, 10))
		_, err := a.Write(nil)
		wantReset(t, "the next Write", err)
	})
}

func TestResetByHandEndsEverythingThatWaits(t *testing.T) {
	between(t, netsim.Options{}, slowAndPlain["slow"], func(t *testing.T, a, b *netsim.Conn) {
		errs := make(chan error)
		for _, c := range []*netsim.Conn{a, b} {
			go func() {
				_, err := c.Read(make([]byte, 1))
				errs <- err
			}()
		}
		synctest.Wait()
		b.Reset()
		b.Reset()
		for range 2 {
			wantReset(t, "Read", <-errs, "connection reset by ")
		}
	})
}

// countUntilReset returns how many calls of each kind succeed.
func countUntilReset(t *testing.T, seed uint64, chance float64) (reads, writes int) {
	between(t, netsim.Options{Seed: seed, In: netsim.Direction{ResetChance: chance}}, netsim.Options{}, func(t *testing.T, a, b *netsim.Conn) {
		go func() {
			for {
				if _, err := b.Write([]byte{1}); err != nil {
					return
				}
			}
		}()
		for {
			if _, err := a.Read(make([]byte, 1)); err != nil {
				wantReset(t, "Read", err, fmt.Sprintf("by chance after %d bytes in", reads))
				return
			}
			reads++
		}
	})
	between(t, netsim.Options{Seed: seed, Out: netsim.Direction{ResetChance: chance, Sizes: netsim.Condition{Name: "single", Min: 1, Max: 1}}}, netsim.Options{},
		func(t *testing.T, a, b *netsim.Conn) {
			go io.Copy(io.Discard, b)
			var err error
			writes, err = a.Write(make([]byte, 1<<20))
			wantReset(t, "Write", err, fmt.Sprintf("by chance after %d bytes out", writes))
		})
	return reads, writes
}

func TestResetByChance(t *testing.T) {
	if r, w := countUntilReset(t, 1, 1); r != 0 || w != 0 {
		t.Errorf("with a chance of 1, %d reads and %d writes went through", r, w)
	}
	var sum int
	const seeds = 60
	for seed := range uint64(seeds) {
		r, w := countUntilReset(t, seed, 0.02)
		again, wAgain := countUntilReset(t, seed, 0.02)
		if r != again || w != wAgain {
			t.Errorf("seed %d: reset after %d reads and %d writes, then after %d and %d", seed, r, w, again, wAgain)
		}
		sum += r + w
	}
	// Geometric, mean 49, standard deviation 49.5; 120 of them.
	if mean := float64(sum) / (2 * seeds); mean < 49-4*4.5 || mean > 49+4*4.5 {
		t.Errorf("with a chance of 1 in 50, a reset comes after %.1f calls", mean)
	}
}

func TestTCPPeerSeesAReset(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	inner, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	c := netsim.NewConn(inner, netsim.Options{})
	defer c.Close()
	write(t, c, []byte("hello"))
	if got := read(t, peer, 5); !bytes.Equal(got, []byte("hello")) {
		t.Fatalf("peer read %q", got)
	}
	c.Reset()
	// What the error is called differs between systems; it is not the end.
	if n, err := peer.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Fatalf("peer's Read returned %d, %v, want a reset", n, err)
	}
}

func TestTCPPipeResetsBothEnds(t *testing.T) {
	a, b, err := netsim.TCPPipe(netsim.Options{In: netsim.Direction{ResetAfter: 1000}}, netsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	wrote := make(chan error)
	go func() {
		for {
			if _, err := b.Write(make([]byte, 100)); err != nil {
				wrote <- err
				return
			}
		}
	}()
	n, err := io.Copy(io.Discard, a)
	if n != 1000 {
		t.Errorf("%d bytes came before the reset", n)
	}
	wantReset(t, "Read", err)
	wantReset(t, "Write on the other end", <-wrote)
}
