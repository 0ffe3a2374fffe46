package bytepool

import (
	"bytes"
	"fmt"
)

// What follows runs in builds with the tag invariants only. A slice is filled
// with one pattern while it is in a pool and with another when it comes out.
// A slice that comes in with the first pattern was put twice. A slice that
// comes out without it was written after its Put. The patterns cannot show a
// second Put of a slice that was got again in between.

const (
	inside  = "\xa5in the pool\x5a\xa5\x5a\xa5" // 16 bytes
	outside = "\xc3old content\x3c\xc3\x3c\xc3"
)

// A shorter slice could hold the pattern by chance, or by being empty.
const tellingSize = len(inside)

func fill(b []byte, pattern string) {
	for n := copy(b, pattern); n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

func filled(b []byte, pattern string) bool {
	n := min(len(b), len(pattern))
	if string(b[:n]) != pattern[:n] {
		return false
	}
	return bytes.Equal(b[n:], b[:len(b)-n])
}

// stale makes a new slice look used, to expose callers that expect zeroes.
func stale(b []byte) { fill(b[:cap(b)], outside) }

// enter is called with a slice that comes into a pool.
func enter(pool string, b []byte) {
	b = b[:cap(b)]
	if len(b) >= tellingSize && filled(b, inside) {
		panic(fmt.Sprintf("bytepool: %s: Put of %d bytes that are in the pool already", pool, len(b)))
	}
	fill(b, inside)
}

// leave is called with a slice that leaves its pool.
func leave(pool string, b []byte) {
	b = b[:cap(b)]
	if !filled(b, inside) {
		panic(fmt.Sprintf("bytepool: %s: Get of %d bytes that were written after their Put", pool, len(b)))
	}
	fill(b, outside)
}
