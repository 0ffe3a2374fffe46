//go:build !unix

package sluice

import (
	"io"
	"syscall"
)

// newRawSource returns nil: only on Unix is a descriptor read by the caller.
func newRawSource(*BufReader, io.Reader, syscall.Conn) source { return nil }
