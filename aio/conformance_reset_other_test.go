//go:build !unix

package aio_test

import (
	"io"
	"syscall"
)

// resets are the errors of a connection whose peer has gone: what Windows says,
// by its own numbers (WSAECONNABORTED, WSAECONNRESET), and what a net.Pipe does.
var resets = []error{syscall.Errno(10053), syscall.Errno(10054), io.ErrClosedPipe}
