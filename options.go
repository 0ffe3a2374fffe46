package sluice

import (
	"fmt"
	"math"

	"github.com/sluice-go/sluice/mem"
)

// Options configure a reader or writer: a function that makes one takes none or one
// of them, and panics with more. A field that is 0, or less, means its default.
// Reset keeps them.
type Options struct {
	// Allocator gives the blocks. Default mem.Default().
	Allocator *mem.Allocator
	// BufLen pins the size of a reader's reads and blocks, in bytes. By default
	// it follows the stream. For a writer it is the most bytes that wait before
	// it flushes by itself, by default 128 KiB over TCP and Unix sockets, 64 KiB
	// elsewhere.
	BufLen int

	// The limits bound what one call of a reader may have to hold, so that memory
	// follows what it accepts and not what a peer sends. Writers have none. None
	// is above 2 GiB - 1, or 1 GiB where int has 32 bits: a higher one is that.

	// Line is the longest line with its end, in bytes. Default 64 KiB.
	Line int
	// Header is the longest MIME header in bytes, ends of lines included.
	// Default 1 MiB. More than 1,000 fields are too many in any case.
	Header int
	// Frame is the most that Peek, Next, ReadBuf, ReadBufs, ReadBytes, ReadFrame
	// and ReadSlice may ask for or come to, and that a Mark may span, in bytes.
	// Peek alone shows more where more has arrived. Default 64 MiB.
	Frame int
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

// limits are those of Options, without zeroes.
type limits struct{ line, header, frame int }

var defaults = limits{line: 64 << 10, header: 1 << 20, frame: 64 << 20}

// maxLimit is the highest limit: a block of twice that is no longer than a Buf may
// be, and no sum of two overflows an int of 64 bits.
const maxLimit = min(math.MaxUint32/2, math.MaxInt/2+1)

// maxFields is how many fields a MIME header may have.
const maxFields = 1000
