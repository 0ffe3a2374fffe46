//go:build !linux

package live

import "syscall"

// input is what Linux has to learn without reading that a peer has sent something or
// closed its connection; elsewhere a goroutine reads.
type input struct{}

func (*input) open(func(uint64)) {}

func (*input) add(syscall.RawConn, uint64, bool) bool { return false }

func (*input) close() {}
