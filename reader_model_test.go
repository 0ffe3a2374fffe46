package sluice_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// modelData returns n bytes with lines in them, some long, of few values
// beside, so that ReadSlice stops soon or late.
func modelData(rng *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := 0; i < n; {
		length := rng.IntN(60)
		if rng.IntN(30) == 0 {
			length = rng.IntN(4000)
		}
		for end := min(n, i+length); i < end; i++ {
			p[i] = byte(rng.IntN(256))
			if p[i] == '\n' && rng.IntN(4) > 0 {
				p[i] = 'n'
			}
		}
		if i < n-1 && rng.IntN(2) == 0 {
			p[i] = '\r'
			i++
		}
		if i < n {
			p[i] = '\n'
			i++
		}
	}
	return p
}

// flaky is a source that a deadline interrupts now and then, also together
// with bytes.
type flaky struct {
	data []byte
	dice dice
	most int
}

func (f *flaky) Read(p []byte) (int, error) {
	if f.dice.pick(5) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	if len(f.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1+f.dice.pick(f.most))], f.data)
	f.data = f.data[n:]
	if f.dice.pick(5) == 0 {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// harsh is a source that now and then panics, fails, is late, or gives nothing.
type harsh struct {
	io.Reader
	dice dice
	most int
}

// before is what happens instead of a read: nothing most often.
func (h *harsh) before() error {
	switch h.dice.pick(16) {
	case 0:
		panic(errPanicky)
	case 1:
		return errSource
	case 2, 3:
		return os.ErrDeadlineExceeded
	}
	return nil
}

func (h *harsh) Read(p []byte) (int, error) {
	if err := h.before(); err != nil {
		return 0, err
	}
	if h.dice.pick(16) == 0 {
		return 0, nil
	}
	n, err := h.Reader.Read(p[:min(len(p), 1+h.dice.pick(h.most))])
	if err == nil && h.dice.pick(16) == 0 {
		err = errSource
	}
	return n, err
}

// harshConn is a harsh connection, whose wait ends early with a deadline.
type harshConn struct {
	harsh
	*net.TCPConn
}

func (c *harshConn) Read(p []byte) (int, error) { return c.harsh.Read(p) }

// harshRaw is one that is read by its descriptor.
type harshRaw struct{ *harshConn }

func (c harshRaw) RawRead() syscall.Conn { return c }

func (c harshRaw) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.TCPConn.SyscallConn()
	return harshDescriptor{raw, c.harshConn}, err
}

type harshDescriptor struct {
	syscall.RawConn
	c *harshConn
}

func (d harshDescriptor) Read(f func(uintptr) bool) error {
	if err := d.c.before(); err != nil {
		return err
	}
	return d.RawConn.Read(func(fd uintptr) bool {
		done := f(fd)
		if !done && d.c.dice.pick(4) == 0 {
			panic(errPanicky) // in a wait, for which memory was given back
		}
		return done
	})
}

// harshStreams bring bytes as harsh sources do, chosen by seed.
func harshStreams(seed uint64) []stream {
	of := func(src io.Reader, next func() int) harsh {
		return harsh{src, chance{rand.New(rand.NewPCG(seed, uint64(next())))}, max(next(), 20)}
	}
	conn := func(t testing.TB, data []byte, next func() int) *harshConn {
		near, far := tcpPair(t)
		c := &harshConn{of(near, next), near}
		send(t, far, data, every(1+len(data)/20))
		return c
	}
	plain := func(bufLen int) func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
		return func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			h := of(&pieces{data: data, next: next}, next)
			return readerOf(t, a, bufLen, &h)
		}
	}
	return []stream{
		{"harsh", plain(0)},
		{"harsh, BufLen 300", plain(300)},
		{"harsh connection", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			return readerOf(t, a, 0, conn(t, data, next))
		}},
		{"harsh descriptor", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			return readerOf(t, a, 0, harshRaw{conn(t, data, next)})
		}},
	}
}

// rounds is n, or a third of it under the race detector: data races depend neither on the
// random choices nor on the amount of data, and the same tests run without the detector.
func rounds(n int) int {
	if sys.Race {
		return n / 3
	}
	return n
}

// fedHistory is one of a reader that is fed between the calls.
func fedHistory(t testing.TB, d dice, a *mem.Allocator, data []byte, most int) *history {
	r := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
	t.Cleanup(r.Recycle)
	h := newHistory(t, d, r, data)
	h.had, h.end = 0, sluice.ErrShort
	turn := 0
	h.more = func() {
		if h.had == len(data) {
			h.note("FeedEnd")
			r.FeedEnd(nil)
			h.end, h.more = io.EOF, nil
			return
		}
		n := min(1+d.pick(most), len(data)-h.had)
		turn += d.pick(3)
		h.note("feed %d of %d", turn%3, n)
		if err := feed(r, a, turn, data[h.had:h.had+n]); err != nil {
			h.fatalf("feed of %d bytes: %v", n, err)
		}
		h.had += n
		h.check()
	}
	return h
}

func TestRandomHistoriesAgreeWithTheModel(t *testing.T) {
	seed := sluicetest.Seed(t)
	runs, steps := rounds(6), 400
	if testing.Short() {
		runs = 2
	}
	allocators := []struct {
		name string
		make func(t *testing.T) *mem.Allocator
	}{
		{"paranoid", func(t *testing.T) *mem.Allocator { return paranoid(t) }},
		{"paranoid with a budget", func(t *testing.T) *mem.Allocator { return watched(t, 16<<20) }},
	}
	all := append(streams(),
		stream{"flaky", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			return readerOf(t, a, 0, &flaky{data, chance{rand.New(rand.NewPCG(seed, uint64(next())))}, next()})
		}},
		stream{"flaky, BufLen 300", func(t testing.TB, a *mem.Allocator, data []byte, next func() int) *sluice.BufReader {
			return readerOf(t, a, 300, &flaky{data, chance{rand.New(rand.NewPCG(seed, uint64(next())))}, next()})
		}},
		stream{name: "fed between calls"},
	)
	all = append(all, harshStreams(seed)...)
	for i, s := range all {
		for k, al := range allocators {
			for run := range runs {
				t.Run(fmt.Sprintf("%s/%s/%d", s.name, al.name, run), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, uint64(i*1000+k*100+run)))
					data := modelData(rng, 1+rng.IntN(400_000)>>rng.IntN(10))
					a := al.make(t)
					most := 1 + rng.IntN(100_000)>>rng.IntN(17)
					most = max(most, len(data)/2000)
					var h *history
					if s.open == nil {
						h = fedHistory(t, chance{rng}, a, data, most)
					} else {
						// The writer is another goroutine.
						lengths := rand.New(rand.NewPCG(seed, uint64(run)))
						r := s.open(t, a, data, func() int { return 1 + lengths.IntN(most) })
						h = newHistory(t, chance{rng}, r, data)
					}
					for range steps {
						h.step()
					}
					h.finish()
				})
			}
		}
	}
}
