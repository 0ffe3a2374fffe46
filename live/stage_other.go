//go:build !linux

package live

import "syscall"

// stage is what Linux has to send one batch to many sockets without copying it
// for each; elsewhere nothing is staged.
type stage struct{}

const (
	stageFrom = 1
	stageFor  = 1
)

func (*stage) put([]byte) bool { return false }

func (*stage) clear() error { return nil }

func (*stage) fail() {}

func (*socketWriter) sendStaged(syscall.RawConn) (int, error) {
	panic("live: nothing is staged here")
}
