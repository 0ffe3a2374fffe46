package live

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/sluice-go/sluice/mem"
)

// keepFrom is the size from which on gathering a frame from where it lies is cheaper
// than to copy it to its neighbours: BenchmarkCopies.
const keepFrom = 32 << 10

// visit is about how many bytes a viewer is sent before the loop goes on to the next one,
// and how many a batch has.
const visit = 128 << 10

// A batch is what one write sends: parts in their order, and the references
// that keep them.
type batch struct {
	parts [][]byte
	bufs  []mem.Buf // of the part with the same index; the zero Buf for plain memory
	size  int       // bytes in all parts
	ends  []int     // where each record ends, counted from the front
	head  [12]byte  // of a WebSocket message or a chunk

	records   int   // how many there are, those left out not counted
	came      int64 // when the first of them came, on the stream's clock
	left      int   // records that are left out: they end where the one before them does
	leftFirst bool  // the first record is
	whole     bool  // the batch cannot be cut between records
	greeted   bool  // it begins with a greeting, which goes with the first record
}

// own appends b, transferred.
func (t *batch) own(b mem.Buf) { t.push(b.Bytes(), b) }

// push appends p, which lies in b, transferred; the zero Buf for plain memory.
func (t *batch) push(p []byte, b mem.Buf) {
	t.parts = append(t.parts, p)
	t.bufs = append(t.bufs, b) //sluice:moved
	t.size += len(p)
}

// add appends p, plain memory that is not changed any more.
func (t *batch) add(p []byte) {
	if len(p) == 0 {
		return
	}
	t.parts = append(t.parts, p)
	t.bufs = append(t.bufs, mem.Buf{})
	t.size += len(p)
}

// reset releases everything.
func (t *batch) reset() {
	for i := range t.bufs {
		if t.bufs[i] != (mem.Buf{}) {
			t.bufs[i].Release()
		}
	}
	clear(t.parts)
	t.parts, t.bufs, t.ends = t.parts[:0], t.bufs[:0], t.ends[:0]
	t.size, t.records, t.left, t.leftFirst, t.whole, t.greeted = 0, 0, 0, false, false, false
}

// append appends all of another batch that has no records, and empties it.
func (t *batch) append(o *batch) {
	t.parts, t.bufs, t.size = append(t.parts, o.parts...), append(t.bufs, o.bufs...), t.size+o.size
	clear(o.bufs)
	o.reset()
}

// leftOf returns how many of the first n records are left out.
func (t *batch) leftOf(n int) int {
	left := 0
	if t.left > 0 {
		for i, end := range t.ends[:n] {
			if i == 0 && t.leftFirst || i > 0 && end == t.ends[i-1] {
				left++
			}
		}
	}
	return left
}

// cutFront drops n bytes at the front.
func (t *batch) cutFront(n int) {
	t.size -= n
	k := 0
	for ; k < len(t.parts) && n >= len(t.parts[k]); k++ {
		n -= len(t.parts[k])
		if t.bufs[k] != (mem.Buf{}) {
			t.bufs[k].Release()
		}
	}
	if k > 0 {
		m := copy(t.parts, t.parts[k:])
		clear(t.parts[m:])
		t.parts = t.parts[:m]
		m = copy(t.bufs, t.bufs[k:])
		clear(t.bufs[m:])
		t.bufs = t.bufs[:m]
	}
	if n > 0 {
		t.parts[0] = t.parts[0][n:]
	}
}

// rest appends bytes i up to j of another batch, retained; those of no Buf are
// copied.
func (t *batch) rest(of *batch, i, j int) {
	at := 0
	for k, p := range of.parts {
		from, to := max(i-at, 0), min(j-at, len(p))
		at += len(p)
		if from >= to {
			continue
		}
		p = p[from:to]
		if of.bufs[k] == (mem.Buf{}) {
			t.add(bytes.Clone(p))
			continue
		}
		t.parts = append(t.parts, p)
		t.bufs = append(t.bufs, of.bufs[k].Retain())
		t.size += len(p)
	}
}

// join moves all of another batch into t, which is empty, and copies neighbouring parts
// that are small into one, in memory of a: a send of 14 parts costs a third more than one
// of a single part. Large parts stay where they are: BenchmarkCopies. t may refer to o's head
// until o is filled again.
func (t *batch) join(o *batch, a *mem.Allocator) {
	t.ends = append(t.ends, o.ends...)
	t.records, t.came, t.left, t.leftFirst, t.whole, t.greeted = o.records, o.came, o.left, o.leftFirst, o.whole, o.greeted
	var slab mem.Slab
	at := 0
	for k := 0; k < len(o.parts); {
		end, n := k, 0
		for end < len(o.parts) && len(o.parts[end]) < keepFrom {
			n += len(o.parts[end])
			end++
		}
		if end-k < 2 {
			t.push(o.parts[k], o.bufs[k])
			o.bufs[k] = mem.Buf{}
			k++
			continue
		}
		if !slab.Valid() {
			slab = a.Slab(o.small(k))
		}
		from := at
		for ; k < end; k++ {
			at += copy(slab.Bytes()[at:], o.parts[k])
		}
		t.own(slab.Cut(from, n))
	}
	if slab.Valid() {
		slab.Release()
	}
	o.reset()
}

// small is how many bytes the small parts from k on have together.
func (t *batch) small(k int) int {
	n := 0
	for _, p := range t.parts[k:] {
		if len(p) < keepFrom {
			n += len(p)
		}
	}
	return n
}

// leaveOut says that the next record is not in the batch.
func (t *batch) leaveOut() {
	if len(t.ends) == 0 {
		t.leftFirst = true
	}
	t.ends = append(t.ends, t.size)
	t.left++
}

// frame appends the header of a WebSocket message or chunk of n bytes.
func (t *batch) frame(f Form, n int) {
	var h []byte
	if t.size == 0 {
		h = t.head[:0] // later it may be in use
	}
	if f.chunked() {
		t.add(appendChunk(h, n, false))
		return
	}
	t.add(appendFrame(h, n))
}

// appendChunk appends what stands before a chunk of n bytes, which is the first
// of its body or follows another (RFC 9112, section 7.1).
func appendChunk(h []byte, n int, first bool) []byte {
	if !first {
		h = append(h, "\r\n"...)
	}
	return append(strconv.AppendInt(h, int64(n), 16), "\r\n"...)
}

// appendFrame appends the header of a WebSocket message of n bytes: final,
// binary, not masked (RFC 6455, section 5.2).
func appendFrame(h []byte, n int) []byte {
	h = append(h, 0x82)
	switch {
	case n < 126:
		return append(h, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(h, 126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(h, 127), uint64(n))
}
