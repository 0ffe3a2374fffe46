//go:build !linux

package live

import "syscall"

// hangups is what Linux has to learn that a peer has closed its connection
// without reading; elsewhere a goroutine reads.
type hangups struct{}

func (*hangups) open(func(uint64)) bool { return false }

func (*hangups) add(syscall.RawConn, uint64) bool { return false }

func (*hangups) close() {}
