package sluice_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/soak"
	"github.com/sluice-go/sluice/mem"
)

const (
	soakStreams   = 1000
	soakFrameRate = 30 // of each stream, in a second
	soakBlock     = 32 << 10
	soakFrameSize = 500 // bytes on average, with what stands before the pattern
)

// soakKept is how many frames of each stream its three subscribers keep, for a minute,
// six seconds and a tenth: the first has all that the others have, too. The first and the last
// block of what a stream keeps are in part something else, so that memory comes near to
// what is alive where queues are long beside the blocks, which are of soakBlock bytes.
var soakKept = [3]int{2000, 200, 3}

// soakMessage puts frame number seq of a stream into b: 4 bytes of length, then the
// stream, the number and a pattern of both.
func soakMessage(b []byte, stream, seq uint32) []byte {
	n := soakFrameSize/2 + int(seq*7919+stream*31)%soakFrameSize
	b = slices.Grow(b[:0], 4+n)[:4+n]
	binary.BigEndian.PutUint32(b, uint32(n))
	soakFrame(b[4:], uint64(stream)<<32|uint64(seq))
	return b
}

// A soakPublisher sends frames on many connections, each at its rate, until end.
func soakPublisher(conns []net.Conn, first int, end time.Time) {
	every := time.NewTicker(time.Second / soakFrameRate)
	defer every.Stop()
	var b []byte
	for seq := uint32(0); time.Now().Before(end); seq++ {
		for i, c := range conns {
			b = soakMessage(b, uint32(first+i), seq)
			if _, err := c.Write(b); err != nil {
				return // the reader says why
			}
		}
		<-every.C
	}
}

// soakRun has the streams come in over TCP, each read by a goroutine with read, until
// length is over.
func soakRun(t *testing.T, length time.Duration, read func(stream int, c net.Conn)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var reading, sending sync.WaitGroup
	conns := make([]net.Conn, soakStreams)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		reading.Go(func() {
			defer c.Close()
			read(i, c)
		})
	}
	end := time.Now().Add(length)
	for part := range slices.Chunk(conns, soakStreams/4) {
		first := slices.Index(conns, part[0])
		sending.Go(func() { soakPublisher(part, first, end) })
	}
	sending.Wait()
	for _, c := range conns {
		_ = c.Close()
	}
	reading.Wait()
}

// A soakSubscriber keeps the newest frames of each stream, and looks at every byte of
// one before it lets it go. Release and bytes are its kind of frame's.
type soakSubscriber[F any] struct {
	keep    int
	bytes   func(F) []byte
	release func(F)
	alive   *atomic.Int64 // bytes of the frames it keeps; may be nil
	taken   atomic.Int64
	full    atomic.Int64 // streams of which it keeps all that it does
	wrong   atomic.Int64

	mu      [soakStreams]sync.Mutex
	kept    [soakStreams][]F
	next    [soakStreams]uint32
	scratch sync.Pool
}

// take is called with each frame of a stream in its order. The frame is transferred.
func (s *soakSubscriber[F]) take(stream int, f F) {
	s.mu[stream].Lock()
	defer s.mu[stream].Unlock()
	s.kept[stream] = append(s.kept[stream], f)
	s.taken.Add(1)
	if s.alive != nil {
		s.alive.Add(int64(len(s.bytes(f))))
	}
	if len(s.kept[stream]) == s.keep && s.next[stream] == 0 {
		s.full.Add(1)
	}
	if len(s.kept[stream]) > s.keep {
		s.drop(stream)
	}
}

// drop lets the oldest frame of a stream go.
func (s *soakSubscriber[F]) drop(stream int) {
	f := s.kept[stream][0]
	s.kept[stream] = slices.Delete(s.kept[stream], 0, 1)
	want, _ := s.scratch.Get().(*[]byte)
	if want == nil {
		want = new([]byte)
	}
	*want = soakMessage(*want, uint32(stream), s.next[stream])
	if string((*want)[4:]) != string(s.bytes(f)) {
		s.wrong.Add(1)
	}
	s.scratch.Put(want)
	s.next[stream]++
	if s.alive != nil {
		s.alive.Add(-int64(len(s.bytes(f))))
	}
	s.release(f)
}

// end lets all frames go.
func (s *soakSubscriber[F]) end() {
	for stream := range s.kept {
		for len(s.kept[stream]) > 0 {
			s.drop(stream)
		}
	}
}

// collections are how often the collector has run without being called.
func collections() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC - m.NumForcedGC
}

// A thousand streams of thirty frames a second are read for as long as SLUICE_SOAK says,
// each frame retained for three subscribers. Every byte is right, and what is out of the
// allocator is at most 1.1 times what is alive. A fifth of the time goes to the same work
// with a copy for each subscriber, for the collections of both to stand side by side.
func TestSoakStreams(t *testing.T) {
	length := soak.Length(t)
	memory := mem.New(mem.Options{Name: "streams"})
	var alive atomic.Int64
	var subscribers [len(soakKept)]soakSubscriber[mem.Buf]
	for i := range subscribers {
		s := &subscribers[i]
		s.keep, s.bytes, s.release = soakKept[i], mem.Buf.Bytes, func(b mem.Buf) { b.Release() }
	}
	subscribers[0].alive = &alive

	w := soak.Begin(t, length*4/5, 0, memory)
	w.Fills()
	ratios, stop := soakRatios(memory, &alive, &subscribers[0].full, w.Settled)
	began, before := time.Now(), collections()
	soakRun(t, length*4/5, func(stream int, c net.Conn) {
		r := sluice.NewBufReader(c, sluice.Options{Allocator: memory, BufLen: soakBlock})
		defer r.Recycle()
		refs := make([]mem.Buf, len(subscribers))
		for {
			n, err := r.ReadBE(4)
			if err == nil {
				arrived := time.Now()
				if err = r.ReadBufs(n, refs); err == nil {
					w.Latency(time.Since(arrived))
				}
			}
			if err != nil {
				if err != io.EOF {
					t.Errorf("stream %d: %v", stream, err)
				}
				return
			}
			for i := range subscribers {
				subscribers[i].take(stream, refs[i])
			}
		}
	})
	retained := float64(collections()-before) / time.Since(began).Minutes()
	frames, of := subscribers[0].taken.Load(), time.Since(began)
	close(stop)
	verdict := w.End()
	for i := range subscribers {
		subscribers[i].end()
	}
	for i := range subscribers {
		if n := subscribers[i].wrong.Load(); n > 0 {
			t.Errorf("%d frames of subscriber %d were wrong", n, i)
		}
	}
	if out := memory.Stats().CheckedOut; out > 0 {
		t.Errorf("%d blocks are out at the end", out)
	}

	copied := soakCopies(t, length/5)
	all := <-ratios
	t.Logf("%.0f frames a second of each stream (%d asked)", float64(frames)/of.Seconds()/soakStreams, soakFrameRate)
	t.Logf("collections a minute: %.1f retained, %.1f with a copy for each subscriber", retained, copied)
	if len(all) == 0 || verdict == soak.TooShort {
		return // which the watch says
	}
	slices.Sort(all)
	t.Logf("out of the allocator to alive: median %.3f, largest %.3f of %d samples", all[len(all)/2], all[len(all)-1], len(all))
	if all[len(all)/2] > 1.1 {
		t.Errorf("%.3f times what is alive is out of the allocator, 1.1 at most", all[len(all)/2])
	}
}

// soakRatios notes each second how many bytes are out of the allocator to those that are
// alive, from when the first subscriber keeps all that it does, which it reports, until stop is
// closed.
func soakRatios(memory *mem.Allocator, alive, full *atomic.Int64, filled func()) (ratios <-chan []float64, stop chan struct{}) {
	result, stop := make(chan []float64, 1), make(chan struct{})
	go func() {
		var all []float64
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if full.Load() < soakStreams {
					continue
				}
				if len(all) == 0 {
					filled()
				}
				all = append(all, float64(memory.Stats().OutBytes)/float64(alive.Load()))
			case <-stop:
				result <- all
				return
			}
		}
	}()
	return result, stop
}

// soakCopies does the same work by bufio and a copy for each subscriber, and returns the
// collections a minute.
func soakCopies(t *testing.T, length time.Duration) float64 {
	var subscribers [len(soakKept)]soakSubscriber[[]byte]
	for i := range subscribers {
		s := &subscribers[i]
		s.keep, s.bytes, s.release = soakKept[i], func(p []byte) []byte { return p }, func([]byte) {}
	}
	began, before := time.Now(), collections()
	soakRun(t, length, func(stream int, c net.Conn) {
		r := bufio.NewReader(c)
		var head [4]byte
		for {
			if _, err := io.ReadFull(r, head[:]); err != nil {
				return
			}
			p := make([]byte, binary.BigEndian.Uint32(head[:]))
			if _, err := io.ReadFull(r, p); err != nil {
				return
			}
			for i := range subscribers {
				if i > 0 {
					p = slices.Clone(p)
				}
				subscribers[i].take(stream, p)
			}
		}
	})
	n := float64(collections()-before) / time.Since(began).Minutes()
	for i := range subscribers {
		if n := subscribers[i].wrong.Load(); n > 0 {
			t.Errorf("%d copies of subscriber %d were wrong", n, i)
		}
	}
	return n
}
