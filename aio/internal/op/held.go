package op

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

// Holds is how much memory a transferred write counts as while it waits: the
// blocks that its bytes need. It is 0 for one whose memory is the program's.
func (r *Request) Holds(a *mem.Allocator) int {
	switch r.Kind {
	case WriteBuf:
		return a.Cap(r.Single.Len())
	case WriteMemory:
		if inSmallParts(r.Memory) {
			return a.Cap(r.Memory.Size)
		}
		held := 0
		for _, part := range r.Memory.Buffers {
			held += a.Cap(len(part))
		}
		return held
	}
	return 0
}

// Compact has what the write was transferred hold little more than its bytes.
func (r *Request) Compact(a *mem.Allocator) {
	switch r.Kind {
	case WriteBuf:
		r.Single.Compact()
	case WriteMemory:
		if !inSmallParts(r.Memory) {
			r.Memory.Compact()
			return
		}
		r.Join(a)
	}
}

// Join copies the parts of a WriteMemory into one Buf, which it writes then.
func (r *Request) Join(a *mem.Allocator) {
	b := a.Get(r.Memory.Size)
	r.Memory.CopyTo(b.Bytes())
	r.Memory.Release()
	r.Kind, r.Single, r.Memory = WriteBuf, b, nil //sluice:moved
}

func inSmallParts(m *mem.Memory) bool {
	return len(m.Buffers) > 1 && m.Size/len(m.Buffers) < smallParts && m.Size <= mostTogether
}
