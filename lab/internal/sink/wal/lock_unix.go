//go:build unix && !solaris && !aix

package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lockName is the file that stands for the right to write into a directory. It stays
// there, and says who had it last.
const lockName = "LOCK"

// lockDir takes a lock that ends with the process, however that ends: flock(2).
func lockDir(dir string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		text := make([]byte, 32)
		n, _ := f.ReadAt(text, 0)
		f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("wal: cannot lock %s: %w", dir, err)
		}
		who := "another process"
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n]))); err == nil {
			who = fmt.Sprintf("process %d", pid)
		}
		return nil, fmt.Errorf("%w: %s, by %s", ErrLocked, dir, who)
	}
	// For people only: what counts is the lock.
	if f.Truncate(0) == nil {
		f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}
