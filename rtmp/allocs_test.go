package rtmp

import (
	"io"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// allocsLoop delivers the same bytes again and again.
type allocsLoop struct {
	p []byte
	i int
}

func (l *allocsLoop) Read(p []byte) (int, error) {
	if l.i == len(l.p) {
		l.i = 0
	}
	n := copy(p, l.p[l.i:])
	l.i += n
	return n, nil
}

// allocsPer is the number of allocations of one f, of which each batch makes
// many: what others in the process allocate meanwhile, or a collection makes
// necessary, is far less than one a call.
func allocsPer(f func()) float64 {
	const batch = 1000
	return testing.AllocsPerRun(20, func() {
		for range batch {
			f()
		}
	}) / batch
}

const allocsLimit = 0.01

// allocsCounted skips a test of allocations where they are not those of
// production.
func allocsCounted(t *testing.T) {
	t.Helper()
	if sys.Race || invariant.Enabled {
		t.Skip("pools forget at random under the race detector and with checks on, so that allocations are not those of production")
	}
}

func TestReadingMediaAllocatesNothing(t *testing.T) {
	allocsCounted(t)
	var in []byte
	for _, n := range []int{300, 4000, 200, 9000} {
		in = append(AppendChunkHeader(in, 6, TypeVideo, 1, 40, n), make([]byte, n)...)
		in = append(in, 2<<6|6, 0, 0, 40)
		in = append(in, make([]byte, n)...)
		in = append(in, 3<<6|6)
		in = append(in, make([]byte, n)...)
	}
	for name, chunkSize := range map[string]int{"in one chunk": DefaultChunkSize, "gathered": InitialChunkSize} {
		p := in
		if chunkSize == InitialChunkSize {
			p = hostileMessage(TypeVideo, make([]byte, 5000))
		}
		b := sluice.NewBufReader(&allocsLoop{p: p})
		c := NewConn(b, sluice.NewBufWriter(io.Discard), Options{})
		c.in.chunkSize = chunkSize
		c.window = leastWindow // acknowledgements are sent as well
		got := allocsPer(func() {
			m, err := c.ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			m.Release()
		})
		if got > allocsLimit {
			t.Errorf("%s: %v allocations a message", name, got)
		}
	}
}

func TestWritingMediaAllocatesNothing(t *testing.T) {
	allocsCounted(t)
	for _, chunkSize := range []int{InitialChunkSize, 4096, DefaultChunkSize} {
		a := mem.New(mem.Options{})
		payload := a.Get(9000)
		w := sluice.NewBufWriter(io.Discard, sluice.Options{Allocator: a})
		c := NewConn(sluice.NewBufReaderBytes(nil), w, Options{})
		if err := c.out.SetChunkSize(chunkSize); err != nil {
			t.Fatal(err)
		}
		time := uint32(0)
		got := allocsPer(func() {
			time += 40
			err := c.WriteMessage(Message{Type: TypeVideo, StreamID: 1, Time: time, Payload: payload.RetainedSlice(0, int(9000-time%100))})
			if err == nil {
				err = c.Flush()
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		if got > allocsLimit {
			t.Errorf("chunk size %d: %v allocations a message", chunkSize, got)
		}
		payload.Release()
	}
}

func TestControlMessagesAllocateNothing(t *testing.T) {
	allocsCounted(t)
	ping := append(AppendChunkHeader(nil, 2, TypeUserControl, 0, 0, 6), 0, byte(EventPingRequest), 0, 0, 0, 1)
	in := append(controlAudio(10, 1), ping...)
	c := NewConn(sluice.NewBufReader(&allocsLoop{p: in}), sluice.NewBufWriter(io.Discard), Options{})
	got := allocsPer(func() {
		m, err := c.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	})
	if got > allocsLimit {
		t.Errorf("%v allocations a ping", got)
	}
}

func TestHeadersAllocateNothing(t *testing.T) {
	dst := make([]byte, 0, 2*MaxChunkHeader)
	if got := testing.AllocsPerRun(100, func() {
		p := AppendChunkHeader(dst, 320, TypeVideo, 1, 1<<31, 5000)
		AppendContinuation(p, 320, 1<<31)
	}); got > 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkReadMessage(b *testing.B) {
	for _, bench := range []struct {
		name      string
		p         []byte
		chunkSize int
	}{
		{"OneChunk", hostileWhole(5000), DefaultChunkSize},
		{"Gathered", hostileMessage(TypeVideo, make([]byte, 5000)), InitialChunkSize},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := NewChunkReader(sluice.NewBufReader(&allocsLoop{p: bench.p}), Limits{})
			c.chunkSize = bench.chunkSize
			b.SetBytes(int64(len(bench.p)))
			b.ReportAllocs()
			for b.Loop() {
				m, err := c.ReadMessage()
				if err != nil {
					b.Fatal(err)
				}
				m.Release()
			}
		})
	}
}

// hostileWhole is a message of n bytes in one chunk.
func hostileWhole(n int) []byte {
	return append(AppendChunkHeader(nil, 6, TypeVideo, 1, 40, n), make([]byte, n)...)
}
