package sluice

import (
	"io"
	"net"

	"github.com/sluice-go/sluice/mem"
)

// pieces are bytes that wait to be sent, in order, and who owns them. What is
// on neither of the owners' lists is borrowed, or lies in the writer's block.
type pieces struct {
	list     net.Buffers
	eaten    net.Buffers // what net.Buffers.WriteTo works off
	size     int         // bytes in list
	bufs     []mem.Buf   // released when the pieces are out
	memories []*mem.Memory
}

// keepPieces is how many pieces there may have been for the lists to be kept:
// it bounds what an idle writer keeps to 6 KiB. A bound of 128 KiB in Bufs of
// 4 KiB with a header each comes to 65.
const keepPieces = 96

// add appends bytes that stay where they are until drop.
func (q *pieces) add(p []byte) {
	q.list = append(q.list, p)
	q.size += len(p)
}

// addBuf appends p, transferred.
func (q *pieces) addBuf(p mem.Buf) {
	q.add(p.Bytes())
	q.bufs = append(q.bufs, p)
}

// addMemory appends m, transferred.
func (q *pieces) addMemory(m *mem.Memory) {
	q.list = append(q.list, m.Buffers...)
	q.size += m.Size
	q.memories = append(q.memories, m)
}

// drop forgets all pieces and releases those that were transferred. Each
// leaves its list before it is released: when the release panics, as a
// function given to mem.Wrap may, the next drop goes on behind it.
func (q *pieces) drop() {
	if len(q.list) == 0 && len(q.bufs) == 0 && len(q.memories) == 0 {
		return
	}
	many := len(q.list) > keepPieces
	clear(q.list)
	q.list, q.eaten, q.size = q.list[:0], nil, 0
	for i := range q.bufs {
		p := q.bufs[i] //sluice:moved
		q.bufs[i] = mem.Buf{}
		if p != (mem.Buf{}) {
			p.Release()
		}
	}
	q.bufs = q.bufs[:0]
	for i, m := range q.memories {
		q.memories[i] = nil
		if m != nil {
			m.Release()
		}
	}
	q.memories = q.memories[:0]
	if many {
		q.list, q.bufs, q.memories = nil, nil, nil
	}
}

// intact reports whether all that was transferred is still held. What its former
// owner has released all the same is forgotten: its bytes may be of another owner.
func (q *pieces) intact() bool {
	ok := true
	for i := range q.bufs {
		if q.bufs[i] != (mem.Buf{}) && !q.bufs[i].Valid() {
			q.bufs[i], ok = mem.Buf{}, false
		}
	}
	for i, m := range q.memories {
		if m != nil && m.Size == 0 { // WriteMemory takes none without bytes
			q.memories[i], ok = nil, false
		}
	}
	return ok
}

// gather sends the pieces in as few system calls as it takes.
func (q *pieces) gather(w io.Writer) (int64, error) {
	q.eaten = q.list
	return q.eaten.WriteTo(w)
}

// next returns how many pieces from number i on go out in one call to a writer
// that takes one piece: one, or short neighbours, of sum bytes.
func (q *pieces) next(i int) (n, sum int) {
	for j := i; j < len(q.list) && sum+len(q.list[j]) <= together; j++ {
		sum += len(q.list[j])
		n++
	}
	if n == 0 {
		return 1, len(q.list[i])
	}
	return n, sum
}
