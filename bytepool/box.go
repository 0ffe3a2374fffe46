package bytepool

import "unsafe"

// box puts the address of b's array into an interface. A sync.Pool that were
// given the slice would allocate its three-word header on every Put; an
// unsafe.Pointer is stored in the interface word itself, and keeps the array
// alive like any pointer. Length and capacity are lost: the pool knows
// them.
func box(b []byte) any { return unsafe.Pointer(unsafe.SliceData(b)) }

// unbox makes the slice again. The array behind v must have room for capacity
// bytes, which Put has checked, and size must not exceed it.
func unbox(v any, size, capacity int) []byte {
	p, ok := v.(unsafe.Pointer)
	if !ok {
		panic("bytepool: BytePool that NewBytePool has not made")
	}
	return unsafe.Slice((*byte)(p), capacity)[:size]
}
