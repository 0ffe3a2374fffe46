package load

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/rawio"
)

func raw(p *Plan) (loops, error) { return loops{max(1, p.Threads), newEpoll}, nil }

// mostLateAfter is more than any timer here is wrong by: they are precise to some
// microseconds. Waits that end later than that do so because something else has the
// processor, and that is what a run has to notice rather than to excuse.
const mostLateAfter = 5 * time.Millisecond

// epoll is the transport for Linux. One recv or send carries as many messages as are
// ready, and connections have no goroutines.
type epoll struct {
	ep, bell int
	fds      []int // by the peer's number
	events   []unix.EpollEvent
	in       []byte
}

const bellTag = -1

func newEpoll() (transport, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(ep)
		return nil, os.NewSyscallError("eventfd", err)
	}
	t := &epoll{ep: ep, bell: bell, events: make([]unix.EpollEvent, 512), in: make([]byte, recvLen)}
	if err := rawio.Watch(ep, bell, bellTag); err != nil {
		t.end()
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return t, nil
}

func (t *epoll) hold() (release func()) {
	runtime.LockOSThread()
	// Waits end on time, not up to 50 µs later: PR_SET_TIMERSLACK in prctl(2).
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return func() {
		unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)
		runtime.UnlockOSThread()
	}
}

// open keeps a duplicate of the connection's descriptor, outside the runtime's poller, which
// would otherwise be notified of every event on it.
func (t *epoll) open(number int, conn net.Conn) error {
	defer conn.Close()
	own, err := rawio.Descriptor(conn)
	if err != nil {
		return err
	}
	fd, err := unix.FcntlInt(uintptr(own), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := rawio.Watch(t.ep, fd, number); err != nil {
		unix.Close(fd)
		return os.NewSyscallError("epoll_ctl", err)
	}
	for len(t.fds) <= number {
		t.fds = append(t.fds, -1)
	}
	t.fds[number] = fd
	return nil
}

func (t *epoll) close(number int, reset bool) {
	if reset {
		unix.SetsockoptLinger(t.fds[number], unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	unix.Close(t.fds[number])
}

func (t *epoll) end() {
	unix.Close(t.ep)
	unix.Close(t.bell)
}

func (t *epoll) send(number int, p []byte) (int, error) {
	n, errno := rawio.Send(t.fds[number], p)
	switch errno {
	case 0:
		return n, nil
	case unix.EAGAIN:
		return 0, errNotReady
	}
	return 0, errno
}

func (t *epoll) receive(number int) (p []byte, more bool, err error) {
	n, errno := rawio.Recv(t.fds[number], t.in)
	switch {
	case errno == unix.EAGAIN:
		return nil, false, errNotReady
	case errno != 0:
		return nil, false, errno
	case n == 0:
		return nil, false, io.EOF
	}
	return t.in[:n], n == len(t.in), nil
}

func (t *epoll) wait(_ context.Context, longest time.Duration, serve func(int, ready) error) error {
	n, err := rawio.Wait(t.ep, t.events, longest)
	if err != nil {
		return err
	}
	for _, e := range t.events[:n] {
		if e.Fd == bellTag {
			var count [8]byte
			unix.Read(t.bell, count[:])
			continue
		}
		r := ready{receive: e.Events&^unix.EPOLLOUT != 0, send: e.Events&unix.EPOLLOUT != 0, ending: e.Events&rawio.Over != 0}
		if err := serve(int(e.Fd), r); err != nil {
			return err
		}
	}
	return nil
}

func (t *epoll) wake() { unix.Write(t.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// used is that of the thread. What it was ready without a processor is left out where the kernel does not report it.
func (t *epoll) used() int64 {
	var used unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used) // it is there on every Linux
	waited, _ := proc.Waited("/proc/thread-self")
	return used.Nano() + int64(waited)
}
