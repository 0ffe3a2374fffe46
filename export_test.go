package sluice

import (
	"github.com/sluice-go/sluice/internal/sizing"
	"github.com/sluice-go/sluice/mem"
)

// The bounds of the block size, for tests that watch it.
const (
	MinBlock = sizing.MinBlock
	MaxBlock = sizing.MaxBlock
)

// UseAllocator gives b, which has read nothing yet, an allocator: the
// constructors for channels, fed bytes and bytes in hand know only the default
// one.
func UseAllocator(b *BufReader, a *mem.Allocator) { b.alloc = a }
