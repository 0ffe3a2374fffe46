package mem

// pinned returns how much of a's capacity b keeps: its block.
func (a *Allocator) pinned(b Buf) int {
	if blk := b.c.block; blk.home != nil && blk.home.alloc == a {
		return blk.gauge.size
	}
	return 0
}

// together reports whether a and b keep the same block.
func together(a, b Buf) bool { return a.c.block == b.c.block }

// pinnedAll is pinned of the parts of m, where neighbours in one block count once.
func (a *Allocator) pinnedAll(m *Memory) (size int) {
	for i := range m.bufs {
		if i == 0 || m.bufs[i].c.block != m.bufs[i-1].c.block {
			size += a.pinned(m.bufs[i])
		}
	}
	return size
}
