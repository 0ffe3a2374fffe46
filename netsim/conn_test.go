package netsim_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/netsim"
)

var _ net.Conn = (*netsim.Conn)(nil)

// stacks returns the stacks of goroutines that run code of a Conn.
func stacks() string {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	var found []string
	for g := range strings.SplitSeq(string(b), "\n\n") {
		if strings.Contains(g, "netsim.(*Conn)") {
			found = append(found, g)
		}
	}
	return strings.Join(found, "\n\n")
}

func TestConnHidesTheWayAround(t *testing.T) {
	a, b, err := netsim.TCPPipe(netsim.Options{}, netsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	var c net.Conn = a
	if _, ok := c.(syscall.Conn); ok {
		t.Error("SyscallConn leads around the Conn")
	}
	if _, ok := c.(io.ReaderFrom); ok {
		t.Error("ReadFrom leads around the Conn")
	}
	if _, ok := c.(io.WriterTo); ok {
		t.Error("WriteTo leads around the Conn")
	}
	if a.LocalAddr().String() != b.RemoteAddr().String() || b.LocalAddr().String() != a.RemoteAddr().String() {
		t.Error("the addresses of the two ends do not match")
	}
}

func TestImpossibleOptionsPanic(t *testing.T) {
	for part, o := range map[string]netsim.Options{
		"latency -1s":                 {Latency: -time.Second},
		"jitter -1s":                  {Jitter: -time.Second},
		"window of -5 bytes":          {Window: -5},
		"in: bandwidth of -3 bytes/s": {In: netsim.Direction{Bandwidth: -3}},
		"out: bandwidth of 0 bytes/s, reset after -7 bytes": {Out: netsim.Direction{ResetAfter: -7}},
		"in: reset chance of 1.5":                           {In: netsim.Direction{ResetChance: 1.5}},
		"out: reset chance of NaN":                          {Out: netsim.Direction{ResetChance: math.NaN()}},
		`condition "odd" of 9 to 3 bytes`:                   {Out: netsim.Direction{Sizes: netsim.Condition{Name: "odd", Min: 9, Max: 3}}},
	} {
		for name, f := range map[string]func(){
			"NewConn": func() { netsim.NewConn(nil, o) },
			"Pipe":    func() { netsim.Pipe(netsim.Options{Latency: 1}, o) },
			"TCPPipe": func() { netsim.TCPPipe(o, netsim.Options{}) },
		} {
			if got := panicOf(f); !strings.HasPrefix(got, "netsim: ") || !strings.Contains(got, part) {
				t.Errorf("%s(%+v) panicked with %q, want %q in it", name, o, got, part)
			}
		}
	}
}

func TestShortReads(t *testing.T) {
	for name, o := range slowAndPlain {
		t.Run(name, func(t *testing.T) {
			o.In.Sizes = netsim.Worst
			between(t, netsim.Options{}, o, func(t *testing.T, a, b *netsim.Conn) {
				data := pattern(50000)
				go func() { write(t, a, data); a.Close() }()
				var got []byte
				seen := map[int]bool{}
				p := make([]byte, 4096)
				for {
					n, err := b.Read(p)
					got = append(got, p[:n]...)
					if n > 128 {
						t.Fatalf("a Read of %d bytes, at most 128 are allowed", n)
					}
					seen[n] = true
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(got, data) {
					t.Error("other bytes came than were written")
				}
				if len(seen) < 100 {
					t.Errorf("only %d different sizes in %d bytes", len(seen), len(data))
				}
			})
		})
	}
}

// recorder is a connection that remembers its Writes.
type recorder struct {
	net.Conn
	writes [][]byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, slices.Clone(p))
	return len(p), nil
}

func (r *recorder) Close() error { return nil }

func TestWritesArePassedOnInPieces(t *testing.T) {
	data := pattern(100000)
	record := func(seed uint64) [][]byte {
		inner, _ := net.Pipe()
		r := &recorder{Conn: inner}
		c := netsim.NewConn(r, netsim.Options{Seed: seed, Out: netsim.Direction{Sizes: netsim.Poor}})
		defer c.Close()
		write(t, c, data[:99000])
		write(t, c, data[99000:])
		write(t, c, nil)
		return r.writes
	}
	pieces := record(1)
	if !bytes.Equal(slices.Concat(pieces...), data) {
		t.Fatal("other bytes were passed on than were written")
	}
	at := 0
	for i, p := range pieces {
		at += len(p)
		if len(p) > 512 || len(p) < 64 && at != 99000 && at != 100000 {
			t.Errorf("piece %d, up to byte %d, has %d bytes", i, at, len(p))
		}
	}
	equal := func(a, b []byte) bool { return bytes.Equal(a, b) }
	if !slices.EqualFunc(pieces, record(1), equal) {
		t.Error("the same seed cuts differently")
	}
	if slices.EqualFunc(pieces, record(2), equal) {
		t.Error("another seed cuts the same")
	}
}

func TestConcurrentWritesAreNotMixed(t *testing.T) {
	a, b, err := netsim.TCPPipe(netsim.Options{Out: netsim.Direction{Sizes: netsim.Worst}}, netsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const writers, rounds, size = 4, 50, 1000
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range rounds {
				write(t, a, bytes.Repeat([]byte{byte(w)}, size))
			}
		})
	}
	go func() { wg.Wait(); a.Close() }()
	for range writers * rounds {
		if p := read(t, b, size); bytes.Count(p, p[:1]) != size {
			t.Fatal("the bytes of two Writes are mixed")
		}
	}
	if _, err := b.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestCloseWriteEndsOneDirection(t *testing.T) {
	a, b, err := netsim.TCPPipe(netsim.Options{}, netsim.Options{Latency: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	write(t, a, []byte("question"))
	if err := a.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if q, err := io.ReadAll(b); string(q) != "question" || err != nil {
		t.Fatalf("read %q, %v", q, err)
	}
	write(t, b, []byte("answer"))
	b.Close()
	if q, err := io.ReadAll(a); string(q) != "answer" || err != nil {
		t.Fatalf("read %q, %v", q, err)
	}

	c, d := netsim.Pipe(netsim.Options{}, netsim.Options{})
	defer c.Close()
	defer d.Close()
	if err := c.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("over net.Pipe CloseWrite returned %v", err)
	}
}

// randomOptions delays, cuts and limits at random, without resets.
func randomOptions(rnd *rand.Rand) (o netsim.Options) {
	o.Seed = rnd.Uint64()
	direction := func() (d netsim.Direction) {
		if rnd.IntN(2) == 0 {
			d.Sizes.Min = 1 + rnd.IntN(3000)
			d.Sizes.Max = d.Sizes.Min + rnd.IntN(3000)
		}
		if rnd.IntN(2) == 0 {
			d.Bandwidth = 1 + rnd.Int64N(1<<rnd.IntN(30))
		}
		return d
	}
	o.In, o.Out = direction(), direction()
	if rnd.IntN(2) == 0 {
		o.Latency = time.Duration(rnd.Int64N(int64(time.Second)))
	}
	if rnd.IntN(2) == 0 {
		o.Jitter = time.Duration(rnd.Int64N(int64(time.Second)))
	}
	if rnd.IntN(2) == 0 {
		o.Window = 1 + rnd.IntN(5000)
	}
	return o
}

// Whatever the options, and however often deadlines pass in the middle of
// things: what is read is what was passed on, all of it, in both directions.
func TestStreamsArriveWholeUnderAnyOptions(t *testing.T) {
	base := rand.Uint64()
	t.Logf("seed %d", base)
	for round := range uint64(16) {
		rnd := rand.New(rand.NewPCG(base, round))
		o, p := randomOptions(rnd), randomOptions(rnd)
		data := pattern(1 + rnd.IntN(20000))
		between(t, o, p, func(t *testing.T, a, b *netsim.Conn) {
			var wg sync.WaitGroup
			for i, way := range [][2]*netsim.Conn{{a, b}, {b, a}} {
				from, to := way[0], way[1]
				wr := rand.New(rand.NewPCG(base+round, uint64(i)))
				rr := rand.New(rand.NewPCG(base-round, uint64(i)))
				wg.Go(func() {
					rest := data
					for len(rest) > 0 {
						if wr.IntN(3) == 0 {
							from.SetWriteDeadline(time.Now().Add(time.Duration(wr.Int64N(int64(time.Minute)))))
						} else {
							from.SetWriteDeadline(time.Time{})
						}
						n, err := from.Write(rest[:1+wr.IntN(len(rest))])
						if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
							t.Errorf("seed %d, round %d: Write returned %v", base, round, err)
							return
						}
						rest = rest[n:]
					}
				})
				wg.Go(func() {
					var got []byte
					for len(got) < len(data) {
						if rr.IntN(3) == 0 {
							to.SetReadDeadline(time.Now().Add(time.Duration(rr.Int64N(int64(time.Minute)))))
						} else {
							to.SetReadDeadline(time.Time{})
						}
						q := make([]byte, 1+rr.IntN(5000))
						n, err := to.Read(q)
						if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
							t.Errorf("seed %d, round %d: Read returned %v", base, round, err)
							return
						}
						got = append(got, q[:n]...)
					}
					if !bytes.Equal(got, data) {
						t.Errorf("seed %d, round %d: other bytes came than were passed on\n%+v\n%+v", base, round, o, p)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestLoopbackStreamsArriveWhole(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	o := netsim.Options{
		Seed: seed, Latency: time.Millisecond, Jitter: time.Millisecond, Window: 10000,
		In:  netsim.Direction{Sizes: netsim.Poor, Bandwidth: 50 << 20},
		Out: netsim.Direction{Sizes: netsim.Normal, Bandwidth: 50 << 20},
	}
	a, b, err := netsim.TCPPipe(o, o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	data := pattern(300000)
	var wg sync.WaitGroup
	for _, way := range [][2]*netsim.Conn{{a, b}, {b, a}} {
		wg.Go(func() { write(t, way[0], data) })
		wg.Go(func() {
			if !bytes.Equal(read(t, way[1], len(data)), data) {
				t.Errorf("seed %d: other bytes came than were written", seed)
			}
		})
	}
	wg.Wait()
}

func TestAnHourOfPoorNetworkTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		a, b := netsim.Pipe(netsim.Options{}, netsim.Options{Latency: 300 * time.Millisecond, In: netsim.Direction{Bandwidth: 10}})
		go func() { write(t, a, make([]byte, 36000)); a.Close() }()
		n, err := io.Copy(io.Discard, b)
		if n != 36000 || err != nil {
			t.Errorf("%d bytes came, and %v", n, err)
		}
		if d := time.Since(begin); d != time.Hour+300*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		b.Close()
	})
}
