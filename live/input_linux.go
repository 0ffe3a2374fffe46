package live

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/internal/sys"
)

// input reports connections whose peers have sent something or have closed them, without
// a goroutine for each. It is an epoll instance of the writer: a viewer costs one entry
// in the kernel, and no work while nothing comes.
type input struct {
	file *os.File // of epoll; nil when there is none
	raw  syscall.RawConn
}

// open starts to call report with the ids of viewers, if that is possible here.
func (i *input) open(report func(id uint64)) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return
	}
	// Non-blocking, or the runtime's poller would not take it.
	if unix.SetNonblock(fd, true) != nil {
		unix.Close(fd)
		return
	}
	i.file = os.NewFile(uintptr(fd), "epoll")
	if i.raw, err = i.file.SyscallConn(); err != nil {
		i.file.Close()
		i.file = nil
		return
	}
	go i.run(report)
}

func (i *input) run(report func(id uint64)) {
	var events [64]unix.EpollEvent
	for {
		n := 0
		err := i.raw.Read(func(fd uintptr) bool {
			var err error
			n, err = sys.EpollWait(int(fd), events[:])
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

// add makes report be called once for a connection, and says whether it will be: when
// its peer has closed it, and with bytes also when some can be read. After that it may be
// called again. The entry goes with the connection.
func (i *input) add(c syscall.RawConn, id uint64, bytes bool) bool {
	if i.file == nil || c == nil {
		return false
	}
	e := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: int32(uint32(id)), Pad: int32(uint32(id >> 32))}
	if bytes {
		e.Events |= unix.EPOLLIN
	}
	var err error
	failed := i.raw.Control(func(poll uintptr) {
		wrong := c.Control(func(fd uintptr) {
			err = unix.EpollCtl(int(poll), unix.EPOLL_CTL_MOD, int(fd), &e)
			if err == unix.ENOENT {
				err = unix.EpollCtl(int(poll), unix.EPOLL_CTL_ADD, int(fd), &e)
			}
		})
		if err == nil {
			err = wrong
		}
	})
	return failed == nil && err == nil
}

// close ends run. Connections that are added later are refused.
func (i *input) close() {
	if i.file != nil {
		i.file.Close()
	}
}
