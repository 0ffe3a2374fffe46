//go:build !unix

package source

import "io"

// Only on Unix is a descriptor read by the caller.
const rawReads = false

// Raw is not used here.
type Raw struct{}

// Reset does nothing.
func (*Raw) Reset() {}

// Read is not called.
func (*Raw) Read(io.Reader, []byte, Memory) (n, offered int, err error) { return 0, 0, io.EOF }
