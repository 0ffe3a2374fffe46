package sluice

import (
	"fmt"

	"github.com/sluice-go/sluice/mem"
)

// Options are what a reader or writer is made with. A field that is zero has
// its default, and so has one that a writer does not use. Reset keeps them.
type Options struct {
	// Allocator gives the blocks. Default mem.Default().
	Allocator *mem.Allocator
	// BufLen pins the size of a reader's reads and blocks, in bytes. By default
	// it follows the stream. Writers do not use it.
	BufLen int
	// Bound is the most bytes that wait in a writer before it flushes by
	// itself. Default 128 KiB over TCP and Unix sockets, 64 KiB elsewhere.
	// Readers do not use it.
	Bound int
	// Limits bound what one call of a reader may have to hold. Writers do not
	// use them.
	Limits Limits
}

// oneOptions returns the Options of a constructor's last parameter, which
// takes one or none.
func oneOptions(call string, o []Options) Options {
	switch len(o) {
	case 0:
		return Options{}
	case 1:
		return o[0]
	}
	panic(fmt.Sprintf("sluice: %s with %d Options, at most one", call, len(o)))
}
