package live

import (
	"fmt"
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// The ways from a publisher's frames, which lie in the blocks that they were
// received into, to the sockets of the viewers.
const (
	byCopy   = "copy"   // every frame is copied into the ring, every batch into one piece
	byGather = "gather" // frames stay where they are, headers are gathered beside them
	byBoth   = "built"  // what is small is copied, what is large stays
)

// BenchmarkCopies compares copying with gathering: the processor time of the
// sending thread for 1,000,000,000 bytes delivered, with what the kernel does in
// its calls. Receiving, on both sides, is not in it.
//
//	go test -run '^$' -bench Copies -benchtime 2000x -count 6 ./live
func BenchmarkCopies(b *testing.B) {
	for _, mbits := range []int{2, 20} {
		for _, form := range []Form{FormFLV, FormRTMP} {
			for _, merged := range []bool{true, false} {
				for _, viewers := range []int{1, 4, 50, 200, 1000} {
					for _, way := range []string{byCopy, byGather, byBoth} {
						name := fmt.Sprintf("mbits=%d/form=%v/merged=%v/viewers=%d/way=%s", mbits, form, merged, viewers, way)
						b.Run(name, func(b *testing.B) { benchmarkCopies(b, mbits, form, merged, viewers, way) })
					}
				}
			}
		}
	}
}

func benchmarkCopies(b *testing.B, mbits int, form Form, merged bool, viewers int, way string) {
	c := newCopies(b, mbits, form, viewers)
	sizes := c.sizes[:1]
	if merged {
		sizes = c.sizes
	}
	rounds := max(b.N/viewers, 20)
	var took time.Duration
	sent := 0
	for i := range rounds + 5 {
		c.receive(sizes, i)
		began := threadTime(b)
		c.publish(way)
		n := c.send(b)
		d := threadTime(b) - began
		c.drain(b)
		if i >= 5 { // those before it fill caches and windows
			took += d
			sent += n
		}
	}
	b.ReportMetric(took.Seconds()*1e9/float64(sent), "cpu-s/GB")
	b.ReportMetric(0, "ns/op")
}

// copies is a stream and its viewers, without the goroutines of a Writer: the same
// ring, batches and calls.
type copies struct {
	form    Form
	sizes   []int // of the frames that come in one merge time
	ring    ring
	block   mem.Slab
	frames  []mem.Buf
	fresh   batch
	batch   batch
	socket  socketWriter
	viewers []syscall.RawConn
	peers   []int
	source  []byte
}

func newCopies(b *testing.B, mbits int, form Form, viewers int) *copies {
	runtime.LockOSThread()
	b.Cleanup(runtime.UnlockOSThread)
	o := StreamOptions{}.withDefaults()
	c := &copies{form: form, ring: newRing(o, new(account))}
	c.socket.init()
	// Three pictures and four packets of sound, about what comes in 95 ms.
	picture := mbits * 1e6 / 8 / 30
	c.sizes = []int{picture, 370, 370, picture, 370, picture, 370}
	c.source = make([]byte, picture)
	for range viewers {
		s, p := pair(b)
		c.viewers = append(c.viewers, newLink(s).raw)
		peer, err := p.SyscallConn()
		if err != nil {
			b.Fatal(err)
		}
		peer.Control(func(fd uintptr) { c.peers = append(c.peers, int(fd)) })
	}
	b.Cleanup(func() { runtime.KeepAlive(c); c.ring.bodies.drop(); c.ring.chunks.drop() })
	return c
}

// receive puts the frames into a block, as reading a publisher's connection does.
func (c *copies) receive(sizes []int, i int) {
	total := 0
	for _, n := range sizes {
		total += n
	}
	c.block = mem.Default().Slab(total)
	at := 0
	for _, n := range sizes {
		c.source[0] = byte(i)
		copy(c.block.Bytes()[at:], c.source[:n])
		c.frames = append(c.frames, c.block.Cut(at, n)) //sluice:moved
		at += n
	}
}

func (c *copies) publish(way string) {
	switch way {
	case byCopy:
		c.ring.keepFrom = math.MaxInt
	case byGather:
		c.ring.keepFrom = 0
	}
	from := c.ring.next
	for i := range c.frames {
		c.ring.push(flv.TagVideo, isVideo, 0, uint32(i), 0, c.frames[i])
		c.frames[i].Release()
	}
	c.frames = c.frames[:0]
	c.block.Release()
	to := &c.fresh
	if way == byGather {
		to = &c.batch
	}
	c.ring.fill(to, c.form, from, c.ring.next, 1<<30)
	if way != byGather {
		c.batch.join(&c.fresh, mem.Default())
	}
}

// send sends the batch to every viewer, and returns how many bytes went out.
func (c *copies) send(b *testing.B) (sent int) {
	for _, v := range c.viewers {
		n, err := c.socket.send(v, c.batch.parts, math.MaxInt)
		if err != nil || n != c.batch.size {
			b.Fatalf("%d of %d bytes, %v", n, c.batch.size, err)
		}
		sent += n
	}
	c.batch.reset()
	if c.ring.next > 200 {
		c.ring.begin(c.ring.next - 200)
	}
	return sent
}

// drain discards what has arrived at the peers.
func (c *copies) drain(b *testing.B) {
	for _, fd := range c.peers {
		for {
			n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), 0, 1<<30, unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
			if errno == unix.EAGAIN {
				break
			}
			if errno != 0 || n == 0 {
				b.Fatal("the peer's socket:", errno)
			}
		}
	}
}

func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
