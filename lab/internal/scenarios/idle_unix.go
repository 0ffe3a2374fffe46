//go:build unix

package scenarios

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// openFiles returns how many files this process may have open.
func openFiles() (int, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, os.NewSyscallError("getrlimit", err)
	}
	return int(min(uint64(l.Cur), 1<<20)), nil
}

var rawBuffers = sync.Pool{New: func() any { return new([idleMessage]byte) }}

// bareReader is the least that a goroutine can wait with.
type bareReader struct {
	left int
	err  error
	got  func()
}

// read takes what is there, into a buffer that is held no longer than that.
func (b *bareReader) read(fd uintptr) bool {
	p := rawBuffers.Get().(*[idleMessage]byte)
	defer rawBuffers.Put(p)
	for {
		n, err := syscall.Read(int(fd), p[:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return false
		case err != nil || n == 0:
			if b.err = err; err == nil {
				b.err = io.EOF
			}
			return true
		default:
			if b.left > 0 {
				if b.left -= n; b.left <= 0 {
					b.got()
				}
			}
		}
	}
}

func serveRaw(conn *net.TCPConn, got func()) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	b := &bareReader{left: idleMessage, got: got}
	if err := raw.Read(b.read); err != nil {
		return err
	}
	return b.err
}
