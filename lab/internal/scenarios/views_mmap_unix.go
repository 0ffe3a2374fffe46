//go:build unix

package scenarios

import (
	"os"
	"syscall"
)

// mapFile maps the first n bytes of f for reading. They are borrowed until
// unmap is called, which f's Close need not wait for.
func mapFile(f *os.File, n int) (p []byte, unmap func() error, err error) {
	p, err = syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return p, func() error { return os.NewSyscallError("munmap", syscall.Munmap(p)) }, nil
}
