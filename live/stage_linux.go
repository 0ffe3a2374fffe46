package live

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// stage is a file in memory from whose pages a batch is sent to many sockets
// (sendfile, memfd_create): the kernel refers to the pages instead of copying
// the bytes for each viewer. What is on its way keeps its pages, whoever is
// slow; the file gets new ones for every batch, so that no page is ever written
// again that somebody may still be sent.
type stage struct {
	fd     int // -1 when there is none
	failed bool
	held   int // bytes in the file
}

const (
	// stageFrom is the size from which on a batch is staged: below, the call's
	// own price is more than what the copy costs.
	stageFrom = 12 << 10
	// stageFor is for how many viewers it has to be.
	stageFor = 16
)

func (s *stage) init() { s.fd = -1 }

// put makes p what the stage holds, and reports whether it could. p is borrowed
// until it returns.
func (s *stage) put(p []byte) bool {
	if s.failed {
		return false
	}
	if s.fd < 0 {
		fd, err := unix.MemfdCreate("sluice", unix.MFD_CLOEXEC)
		if err == nil {
			// Non-blocking, it makes sendfile so, whatever the socket is.
			err = unix.SetNonblock(fd, true)
		}
		if err != nil {
			s.drop()
			s.failed = true
			return false
		}
		s.fd = fd
	}
	if s.clear() != nil {
		s.fail()
		return false
	}
	for s.held < len(p) {
		n, err := unix.Pwrite(s.fd, p[s.held:], int64(s.held))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			s.fail() // no memory, or a limit on files
			return false
		}
		s.held += n
	}
	return true
}

// clear lets the pages go. Those on their way to somebody live on by
// themselves.
func (s *stage) clear() error {
	if s.held == 0 {
		return nil
	}
	s.held = 0
	return unix.Ftruncate(s.fd, 0)
}

// fail does without from now on.
func (s *stage) fail() {
	s.drop()
	s.failed = true
}

// drop closes the file.
func (s *stage) drop() {
	if s.fd >= 0 {
		unix.Close(s.fd)
	}
	s.fd, s.held = -1, 0
}

// sendStaged sends what the stage holds, like send.
func (w *socketWriter) sendStaged(c syscall.RawConn) (int, error) {
	w.n, w.err = 0, nil
	err := c.Control(w.copy)
	return w.result(err)
}

func (w *socketWriter) sendfile(fd uintptr) {
	for w.n < w.stage.held {
		offset := int64(w.n)
		n, err := unix.Sendfile(int(fd), w.stage.fd, &offset, w.stage.held-w.n)
		if err == unix.EINTR {
			continue
		}
		if w.err = err; err != nil || n == 0 {
			return
		}
		w.n += n
	}
}
