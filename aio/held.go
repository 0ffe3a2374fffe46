package aio

import "github.com/sluice-go/sluice/mem"

// What waits in a write queue holds memory, and QueueLimit counts that memory and
// not only the bytes. A few bytes of a large block are copied into a small one as
// soon as they have to wait: mem.Buf.Compact says when that is worth it. What is
// left where it is holds at most eight times what is counted here.

// smallParts is the mean size in bytes below which the parts of a Memory are put
// together to wait: the least that a block can be.
const smallParts = 256

// mostTogether is the size in bytes above which that is not done: the copy would
// take longer than the writes.
const mostTogether = 256 << 10

// length is how many bytes a write is to write.
func (r *request) length() int {
	switch r.kind {
	case writeBuf:
		return r.single.Len()
	case writeMemory:
		return r.memory.Size
	}
	return len(r.buf)
}

// holds is how much memory a transferred write counts as while it waits: the
// blocks that its bytes need. It is 0 for one whose memory is the program's.
func (r *request) holds(a *mem.Allocator) int {
	switch r.kind {
	case writeBuf:
		return a.Cap(r.single.Len())
	case writeMemory:
		if inSmallParts(r.memory) {
			return a.Cap(r.memory.Size)
		}
		held := 0
		for _, part := range r.memory.Buffers {
			held += a.Cap(len(part))
		}
		return held
	}
	return 0
}

// compact has what the write was transferred hold little more than its bytes.
func (r *request) compact(a *mem.Allocator) {
	switch r.kind {
	case writeBuf:
		r.single.Compact()
	case writeMemory:
		if !inSmallParts(r.memory) {
			r.memory.Compact()
			return
		}
		b := a.Get(r.memory.Size)
		r.memory.CopyTo(b.Bytes())
		r.memory.Release()
		r.kind, r.single, r.memory = writeBuf, b, nil //sluice:moved
	}
}

func inSmallParts(m *mem.Memory) bool {
	return len(m.Buffers) > 1 && m.Size/len(m.Buffers) < smallParts && m.Size <= mostTogether
}
