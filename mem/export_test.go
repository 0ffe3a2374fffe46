package mem

// What the tests of package mem_test may know of the inside.

const (
	LastGeneration  = lastGen
	MaxRefs         = maxRefs
	QuarantineBytes = quarantineBytes
	Poison          = poison
	SampleEvery     = sampleEvery
)

// AtGeneration moves the block of b, whose only reference is b, to a
// generation and returns b as a Buf of it.
func (b Buf) AtGeneration(g uint32) Buf {
	w := b.b.word.Load()
	b.b.word.Store(uint64(g)<<genShift | w&refMask)
	b.key = uint64(g)<<genShift | b.key&refMask
	return b
}

// Generation returns that of b.
func (b Buf) Generation() uint32 { return uint32(b.key >> genShift) }

// Refs returns the references of b's block, whoever has it.
func (b Buf) Refs() int { return int(b.b.word.Load() & refMask) }

// AddRefs pretends that n more references exist.
func (b Buf) AddRefs(n int) { b.b.word.Add(uint64(n)) }

// BlockSize returns the size of the block that b keeps.
func (b Buf) BlockSize() int { return len(b.b.data) }

// SlicesOut returns how many slices of Malloc are known to be out.
func (a *Allocator) SlicesOut() int {
	n := 0
	for i := range a.slices.shards {
		sh := &a.slices.shards[i]
		sh.mu.Lock()
		n += len(sh.out)
		sh.mu.Unlock()
	}
	return n
}

// UnderPressure reports whether blocks that come home give their charge back.
func (a *Allocator) UnderPressure() bool { return a.budget.pressure.Load() }
