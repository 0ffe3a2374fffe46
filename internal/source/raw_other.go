//go:build !unix

package source

import "io"

// Only on Unix is a descriptor read by the caller.
const rawReads = false

// Raw is not used here.
type Raw struct{}

// Reset does nothing.
func (*Raw) Reset() {}

// Open is not called.
func (*Raw) Open(Memory) error { return nil }

// Offer is not called.
func (*Raw) Offer([]byte) {}

// Read is not called.
func (*Raw) Read() (n, offered int, err error) { return 0, 0, io.EOF }
