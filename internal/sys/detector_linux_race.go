//go:build race

package sys

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The race detector learns here of what the calls of this package read and write, as it does
// from package syscall: that a buffer is used by others meanwhile, and that what was done before a
// write has happened before what follows the read of it. For the second, package syscall has a
// place of its own, which its Read and Write of nothing use too.

// received notifies the detector that n bytes were read from fd into p.
func received(fd int, p []byte, n uintptr, errno unix.Errno) {
	if errno != 0 {
		return
	}
	if n > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&p[0]), int(n))
	}
	_, _ = syscall.Read(fd, nil) // which takes no message either
}

// sends notifies the detector that the next call writes p.
func sends(p []byte) {
	runtime.RaceReadRange(unsafe.Pointer(&p[0]), len(p))
	_, _ = syscall.Write(-1, nil) // to fd it might be a message
}

// sendsParts is sends of parts.
func sendsParts(parts []unix.Iovec) {
	for i := range parts {
		sends(unsafe.Slice(parts[i].Base, int(parts[i].Len)))
	}
}
