package netsim_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/netsim"
)

// Times in this file are those of a bubble, so they are compared exactly.

// between runs f in a bubble with both ends of a Pipe, and closes them.
func between(t *testing.T, a, b netsim.Options, f func(t *testing.T, a, b *netsim.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		endA, endB := netsim.Pipe(a, b)
		defer endA.Close()
		defer endB.Close()
		f(t, endA, endB)
	})
}

func write(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if n, err := c.Write(b); n != len(b) || err != nil {
		t.Errorf("Write of %d bytes returned %d, %v", len(b), n, err)
	}
}

func read(t *testing.T, c net.Conn, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if got, err := io.ReadFull(c, b); err != nil {
		t.Errorf("read of %d bytes returned %d, %v", n, got, err)
	}
	return b
}

func TestLatencyDelaysEachByteOnceWhateverIsInFlight(t *testing.T) {
	between(t, netsim.Options{}, netsim.Options{Latency: 50 * time.Millisecond}, func(t *testing.T, a, b *netsim.Conn) {
		begin := time.Now()
		go func() {
			for i := range 100 {
				write(t, a, []byte{byte(i)})
				time.Sleep(time.Millisecond)
			}
			a.Close()
		}()
		for i := range 100 {
			got := read(t, b, 1)
			want := 50*time.Millisecond + time.Duration(i)*time.Millisecond
			if at := time.Since(begin); got[0] != byte(i) || at != want {
				t.Fatalf("byte %d (%d) could be read after %v, want %v", i, got[0], at, want)
			}
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
		if at := time.Since(begin); at != 150*time.Millisecond {
			t.Fatalf("the end came after %v, want 150ms", at)
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("after the end: %v", err)
		}
	})
}

func TestBothEndsAddUpToARoundTrip(t *testing.T) {
	o := netsim.Options{Latency: 40 * time.Millisecond}
	between(t, o, o, func(t *testing.T, a, b *netsim.Conn) {
		go func() { write(t, b, read(t, b, 5)) }()
		begin := time.Now()
		write(t, a, []byte("hello"))
		if got := read(t, a, 5); string(got) != "hello" || time.Since(begin) != 80*time.Millisecond {
			t.Fatalf("echo %q after %v, want 80ms", got, time.Since(begin))
		}
	})
}

// arrivals returns when each of n bytes, written at once, could be read.
func arrivals(t *testing.T, o netsim.Options, n int) (at []time.Duration) {
	between(t, netsim.Options{Out: netsim.Direction{Sizes: netsim.Condition{Name: "single", Min: 1, Max: 1}}}, o,
		func(t *testing.T, a, b *netsim.Conn) {
			data := pattern(n)
			begin := time.Now()
			go write(t, a, data)
			for i := range data {
				if got := read(t, b, 1); got[0] != data[i] {
					t.Fatalf("byte %d is %d, want %d: out of order", i, got[0], data[i])
				}
				at = append(at, time.Since(begin))
			}
		})
	return at
}

func TestJitterStaysInItsBoundsAndKeepsOrder(t *testing.T) {
	const latency, jitter = 10 * time.Millisecond, 30 * time.Millisecond
	at := arrivals(t, netsim.Options{Seed: 3, Latency: latency, Jitter: jitter}, 200)
	for i, d := range at {
		if d < latency || d >= latency+jitter {
			t.Errorf("byte %d came after %v", i, d)
		}
	}
	again := arrivals(t, netsim.Options{Seed: 3, Latency: latency, Jitter: jitter}, 200)
	other := arrivals(t, netsim.Options{Seed: 4, Latency: latency, Jitter: jitter}, 200)
	var differ bool
	for i := range at {
		if at[i] != again[i] {
			t.Fatalf("byte %d came after %v and, with the same seed, after %v", i, at[i], again[i])
		}
		differ = differ || at[i] != other[i]
	}
	if !differ {
		t.Error("another seed has the same jitter")
	}
}

func TestJitterVaries(t *testing.T) {
	between(t, netsim.Options{}, netsim.Options{Seed: 1, Jitter: 20 * time.Millisecond}, func(t *testing.T, a, b *netsim.Conn) {
		var sum, least, most time.Duration = 0, time.Hour, 0
		const n = 400
		for range n {
			begin := time.Now()
			write(t, a, []byte{1})
			read(t, b, 1)
			d := time.Since(begin)
			sum, least, most = sum+d, min(least, d), max(most, d)
		}
		if mean := sum / n; mean < 9*time.Millisecond || mean > 11*time.Millisecond || least > time.Millisecond || most < 19*time.Millisecond {
			t.Fatalf("jitter of 0 to 20ms has mean %v, least %v, most %v", mean, least, most)
		}
	})
}

func TestIncomingBandwidthIsExact(t *testing.T) {
	for _, c := range []struct {
		rate int64
		n    int
		want time.Duration
	}{
		{1000, 5000, 5 * time.Second},
		{3, 300, 100 * time.Second}, // a third of a second does not add up to an error
		{1 << 20, 1 << 20, time.Second},
		{7_000_000, 3_500_000, 500 * time.Millisecond},
		{1 << 62, 1 << 20, 1048 * time.Nanosecond}, // bounded to 1e15, where this rounds to
	} {
		between(t, netsim.Options{}, netsim.Options{In: netsim.Direction{Bandwidth: c.rate}}, func(t *testing.T, a, b *netsim.Conn) {
			data := pattern(c.n)
			begin := time.Now()
			go write(t, a, data)
			got := make([]byte, 0, c.n)
			p := make([]byte, 4096)
			for len(got) < c.n {
				n, err := b.Read(p)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, p[:n]...)
				// Not sooner than the line can have carried it.
				if soonest := float64(len(got)) / float64(c.rate); c.rate < 1e9 && time.Since(begin).Seconds() < soonest-1e-9 {
					t.Fatalf("%d bytes/s: %d bytes after %v", c.rate, len(got), time.Since(begin))
				}
			}
			if !bytes.Equal(got, data) {
				t.Errorf("%d bytes/s: other bytes came than were written", c.rate)
			}
			if d := time.Since(begin); c.rate < 1e9 && d != c.want || d > c.want {
				t.Errorf("%d bytes at %d bytes/s took %v, want %v", c.n, c.rate, d, c.want)
			}
		})
	}
}

func TestOutgoingBandwidthIsExact(t *testing.T) {
	between(t, netsim.Options{Out: netsim.Direction{Bandwidth: 1000}}, netsim.Options{}, func(t *testing.T, a, b *netsim.Conn) {
		go io.Copy(io.Discard, b)
		begin := time.Now()
		for range 50 {
			write(t, a, make([]byte, 101))
		}
		// The line is still busy with the last portion, 1 byte of the last Write, when that returns.
		if d := time.Since(begin); d != 5049*time.Millisecond {
			t.Errorf("5,050 bytes at 1,000 bytes/s: the last portion began after %v, want 5.049s", d)
		}
	})
}

// lagging is a connection whose Write takes a while.
type lagging struct {
	net.Conn
	lag time.Duration
}

func (l lagging) Write(p []byte) (int, error) {
	time.Sleep(l.lag)
	return len(p), nil
}

func TestTimeSpentBelowCountsForTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, other := net.Pipe()
		defer other.Close()
		c := netsim.NewConn(lagging{inner, 3 * time.Millisecond}, netsim.Options{Out: netsim.Direction{Bandwidth: 1000}})
		defer c.Close()
		begin := time.Now()
		write(t, c, make([]byte, 500))
		// 50 portions of 10 ms, the last of which has just been handed over.
		if d := time.Since(begin); d != 493*time.Millisecond {
			t.Errorf("500 bytes at 1,000 bytes/s took %v, want 493ms", d)
		}
	})
}

func TestIdleTimeIsNotMadeUp(t *testing.T) {
	o := netsim.Direction{Bandwidth: 1000}
	between(t, netsim.Options{Out: o}, netsim.Options{In: o}, func(t *testing.T, a, b *netsim.Conn) {
		for range 3 {
			time.Sleep(time.Hour)
			begin := time.Now()
			go write(t, a, make([]byte, 1000))
			read(t, b, 1000)
			// Each portion of 10 bytes starts when the one before it has gone,
			// and takes its 10 ms again at the other end, both at the same
			// pace.
			if d := time.Since(begin); d != time.Second {
				t.Fatalf("1,000 bytes at 1,000 bytes/s took %v", d)
			}
		}
	})
}

func TestWindowBoundsWhatIsInFlight(t *testing.T) {
	between(t, netsim.Options{}, netsim.Options{Latency: time.Second, Window: 1000}, func(t *testing.T, a, b *netsim.Conn) {
		a.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		n, err := a.Write(make([]byte, 5000))
		if n != 1000 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("with nobody reading, Write passed %d bytes on (%v), want 1000", n, err)
		}
		a.SetWriteDeadline(time.Time{})

		// A window per latency, like TCP.
		begin := time.Now()
		go write(t, a, make([]byte, 9000))
		read(t, b, 10000)
		if d := time.Since(begin); d != 9500*time.Millisecond {
			t.Fatalf("9,000 bytes more, behind the first 1,000, took %v, want 9.5s", d)
		}
	})
}

func TestLatencyAndBandwidthTogether(t *testing.T) {
	o := netsim.Options{Latency: time.Second, In: netsim.Direction{Bandwidth: 1000}}
	between(t, netsim.Options{}, o, func(t *testing.T, a, b *netsim.Conn) {
		begin := time.Now()
		go func() { write(t, a, make([]byte, 2000)); a.Close() }()
		read(t, b, 10)
		if d := time.Since(begin); d != 1010*time.Millisecond {
			t.Errorf("the first portion came after %v, want 1.01s", d)
		}
		if n, err := io.Copy(io.Discard, b); n != 1990 || err != nil {
			t.Errorf("then %d bytes and %v", n, err)
		}
		if d := time.Since(begin); d != 3*time.Second {
			t.Errorf("the end came after %v, want 3s", d)
		}
	})
}

func TestReaderThatGivesNothingEndsInNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, other := net.Pipe()
		defer other.Close()
		c := netsim.NewConn(stuck{inner}, netsim.Options{Latency: time.Second})
		defer c.Close()
		if _, err := c.Read(make([]byte, 1)); err != io.ErrNoProgress {
			t.Fatalf("Read returned %v", err)
		}
	})
}

type stuck struct{ net.Conn }

func (stuck) Read([]byte) (int, error) { return 0, nil }
