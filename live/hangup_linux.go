package live

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// hangups reports peers that have closed their connections, where no read would show
// that. It is an epoll instance of the writer: a viewer costs one entry in the
// kernel, and no work while its connection stays open.
type hangups struct {
	file *os.File // of epoll; nil when there is none
	raw  syscall.RawConn
}

// open starts to call report with the ids of viewers. It reports whether that is
// possible here.
func (h *hangups) open(report func(id uint64)) bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	// Non-blocking, or the runtime's poller would not take it.
	if unix.SetNonblock(fd, true) != nil {
		unix.Close(fd)
		return false
	}
	h.file = os.NewFile(uintptr(fd), "epoll")
	if h.raw, err = h.file.SyscallConn(); err != nil {
		h.close()
		return false
	}
	go h.run(h.raw, report)
	return true
}

func (h *hangups) run(raw syscall.RawConn, report func(id uint64)) {
	var events [64]unix.EpollEvent
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			var err error
			n, err = unix.EpollWait(int(fd), events[:], 0)
			return n > 0 || err != nil && err != unix.EINTR
		})
		if err != nil || n < 0 {
			return // closed
		}
		for _, e := range events[:n] {
			report(uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32)
		}
	}
}

// add watches a connection until it is closed, and reports whether it does.
func (h *hangups) add(c syscall.RawConn, id uint64) bool {
	if h.file == nil || c == nil {
		return false
	}
	e := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: int32(uint32(id)), Pad: int32(uint32(id >> 32))}
	var err error
	failed := h.raw.Control(func(poll uintptr) {
		if wrong := c.Control(func(fd uintptr) { err = unix.EpollCtl(int(poll), unix.EPOLL_CTL_ADD, int(fd), &e) }); err == nil {
			err = wrong
		}
	})
	return failed == nil && err == nil
}

func (h *hangups) close() {
	if h.file != nil {
		h.file.Close()
		h.file = nil
	}
}
