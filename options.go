package sluice

import "github.com/sluice-go/sluice/mem"

// Options are what a reader or a writer is made with. The zero Options are the
// defaults, and a field that is zero has its default.
type Options struct {
	// Allocator gives the blocks. Default mem.Default().
	Allocator *mem.Allocator
	// BufLen pins the size of a reader's reads and blocks, in bytes, 16 at
	// least. Default: it follows the stream, between 256 B and 64 KiB, more for
	// longer frames. Writers ignore it.
	BufLen int
	// Bound is the most bytes that wait in a writer before it flushes by
	// itself. Default 64 KiB. Readers ignore it.
	Bound int
	// Limits bound what one call of a reader may have to hold. Writers ignore
	// them.
	Limits Limits
}

// only returns the one element of o, or nil.
func only(o []Options) *Options {
	switch len(o) {
	case 0:
		return nil
	case 1:
		return &o[0]
	}
	panic("sluice: more than one Options")
}
