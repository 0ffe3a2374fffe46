//go:build !unix

package source

import (
	"io"
	"syscall"
)

// Only on Unix is a descriptor read by the caller.
const rawReads = false

// Raw is not used here.
type Raw struct{}

// Reset is not called.
func (*Raw) Reset(io.Reader, syscall.Conn) {}

// Close does nothing.
func (*Raw) Close() {}

// Conn returns nil.
func (*Raw) Conn() io.Reader { return nil }

// Read is not called.
func (*Raw) Read([]byte, Memory) (n, offered int, err error) { return 0, 0, io.EOF }
