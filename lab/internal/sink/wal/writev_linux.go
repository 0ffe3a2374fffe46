package wal

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxParts is IOV_MAX of Linux: more parts than that one call does not take.
const maxParts = 1024

// WriteParts is pwritev(2), again for what it left.
func (f osFile) WriteParts(parts [][]byte, off int64) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	done := 0
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for len(parts) > 0 {
			n, err := unix.Pwritev(int(fd), parts[:min(len(parts), maxParts)], off+int64(done))
			if err == unix.EINTR {
				continue
			}
			if err == nil && n == 0 {
				err = io.ErrShortWrite
			}
			if err != nil {
				failed = &os.PathError{Op: "write", Path: f.Name(), Err: err}
				return true
			}
			done += n
			parts = behind(parts, n)
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return done, err
}

// behind returns what of parts comes after n bytes, in a list of its own where
// a part is cut.
func behind(parts [][]byte, n int) [][]byte {
	for len(parts) > 0 && n >= len(parts[0]) {
		n -= len(parts[0])
		parts = parts[1:]
	}
	if n == 0 {
		return parts
	}
	rest := append([][]byte(nil), parts...)
	rest[0] = rest[0][n:]
	return rest
}
