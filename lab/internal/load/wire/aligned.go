package wire

import "unsafe"

// pageLen is what buffers of direct reads and writes are aligned to: no device wants
// more.
const pageLen = 4096

// aligned returns n bytes that begin at a multiple of pageLen.
func aligned(n int) []byte {
	b := make([]byte, n+pageLen)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (pageLen - 1)
	return b[skip : skip+n : skip+n]
}
