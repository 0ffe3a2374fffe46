package op

import "github.com/sluice-go/sluice/mem"

// Parts returns the parts of a Memory that waits, borrowed. It panics when its former
// owner has released it: the writes behind it would be sent in its place.
func Parts(m *mem.Memory) [][]byte {
	if m.Size == 0 { // an empty one is not submitted
		panicTransferred()
	}
	return m.Buffers
}

//go:noinline
func panicTransferred() {
	panic("aio: a Memory was released after WriteMemory, to which it was transferred")
}
