package relay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

const (
	// patience is the timeout of every wait of the load; all should take far less.
	patience = 20 * time.Second
	// drainTime is how long the frames of the window may still come after it.
	drainTime = 3 * time.Second
	// joining is how many viewers may wait for the server's first byte at once:
	// fewer than a listener's queue takes.
	joining = 64
	// atOnce is how many bytes a publisher that is late sends before the load serves the
	// viewers.
	atOnce = 256 << 10
	// moderation is how often the load looks for what has come. It does not wait in
	// epoll: waking a thread is expensive, above all on virtual machines, and some sends of
	// the server would pay for it, while viewers across a network cost the server
	// nothing to wake. On average this adds half of moderation to the lag.
	moderation = time.Millisecond
	// longRead is more than a socket's buffer has, mostly.
	longRead = 256 << 10
)

// RunLoad is a load's process. It reads a Work as a line of JSON from in,
// publishes, lets the viewers join, and writes "ready" to out. When it reads "go"
// it measures, and writes a Result as a line of JSON. It publishes until in ends;
// it returns an error earlier if something fails.
func RunLoad(in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	asked := bufio.NewReader(in)
	line, err := asked.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("relay: the load has no work: %w", err)
	}
	var w Work
	if err := json.Unmarshal(line, &w); err != nil {
		return fmt.Errorf("relay: the load's work: %w", err)
	}
	l, err := newLoad(w)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.join(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	var told atomic.Int32
	go func() {
		for {
			_, err := asked.ReadString('\n')
			told.Add(1)
			if err != nil {
				return
			}
		}
	}()
	if err := l.until(func() bool { return told.Load() > 0 }, math.MaxInt64, "being told to go"); err != nil {
		return err
	}
	r, err := l.measure()
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(r); err != nil {
		return err
	}
	return l.until(func() bool { return told.Load() > 1 }, math.MaxInt64, "the end")
}

// A load is a publisher and its viewers.
type load struct {
	work    Work
	began   time.Time
	ep      int
	show    show
	tally   tally
	pub     *publisher
	view    *unix.SockaddrInet4
	viewers []viewer
	waiting int // viewers who have no byte yet
	closed  int
	strict  bool // a connection that the server ends is an error
	buf     []byte
	events  []unix.EpollEvent
}

// A viewer is one connection.
type viewer struct {
	fd    int
	rtmp  *rtmpClient
	flv   *flvSplit
	seat  seat
	bytes int64
	mark  int64 // bytes at the beginning of the window
	asked time.Duration
	gone  bool
}

func newLoad(w Work) (*load, error) {
	file, err := os.ReadFile(w.Clip)
	if err != nil {
		return nil, err
	}
	clip, err := ParseClip(file)
	if err != nil {
		return nil, err
	}
	if w.Viewers < 1 || w.Form != RTMP && w.Form != FLV || w.Window <= 0 {
		return nil, fmt.Errorf("relay: %d viewers by %q for %v", w.Viewers, w.Form, w.Window)
	}
	l := &load{
		work: w, began: time.Now(), ep: -1, show: show{clip: clip}, viewers: make([]viewer, 0, w.Viewers), strict: true,
		buf: make([]byte, longRead), events: make([]unix.EpollEvent, 512),
	}
	if l.view, err = address(w.View); err != nil {
		return nil, err
	}
	to, err := address(w.Publish)
	if err != nil {
		return nil, err
	}
	if l.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if l.pub, err = l.openPublisher(to); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func address(s string) (*unix.SockaddrInet4, error) {
	addr, err := netip.ParseAddrPort(s)
	if err != nil || !addr.Addr().Is4() {
		return nil, fmt.Errorf("relay: %.60q is no IPv4 address with a port", s)
	}
	return &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}, nil
}

func (l *load) close() {
	for i := range l.viewers {
		if !l.viewers[i].gone {
			unix.Close(l.viewers[i].fd)
		}
	}
	if l.pub != nil {
		unix.Close(l.pub.fd)
	}
	if l.ep >= 0 {
		unix.Close(l.ep)
	}
}

func (l *load) now() time.Duration { return time.Since(l.began) }

// until runs turns until done, for at most longest.
func (l *load) until(done func() bool, longest time.Duration, what string) error {
	for began := l.now(); !done(); {
		if l.now()-began > longest {
			return fmt.Errorf("relay: %v were not enough for %s", longest, what)
		}
		if err := l.turn(50 * time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// pass runs turns until a given time.
func (l *load) pass(end time.Duration) error {
	for {
		left := end - l.now()
		if left <= 0 {
			return nil
		}
		if err := l.turn(left); err != nil {
			return err
		}
	}
}

// turn sends what is due and receives what has come. When there is nothing to do it
// sleeps, for at most longest.
func (l *load) turn(longest time.Duration) error {
	next, err := l.pub.advance()
	if err != nil {
		return err
	}
	n, err := unix.EpollWait(l.ep, l.events, 0)
	if err != nil && err != unix.EINTR {
		return os.NewSyscallError("epoll_wait", err)
	}
	if n <= 0 {
		pause := unix.NsecToTimespec(min(longest, next, moderation).Nanoseconds())
		unix.Nanosleep(&pause, nil) // it may be short
		return nil
	}
	for i := range l.events[:n] {
		at := int(l.events[i].Fd)
		if at < 0 {
			err = l.pub.receive()
		} else {
			err = l.receive(&l.viewers[at])
		}
		if err != nil {
			return fmt.Errorf("viewer %d (-1 is the publisher): %w", at, err)
		}
		// Send a frame that has become due meanwhile before more is read.
		if l.now() >= l.pub.due {
			if _, err := l.pub.advance(); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive takes what one read gives; if there is more there is another event.
func (l *load) receive(v *viewer) error {
	n, errno := rawio.Recv(v.fd, l.buf)
	switch {
	case errno == unix.EAGAIN:
		return nil
	case errno != 0 || n == 0:
		if l.strict {
			return fmt.Errorf("relay: the server ended the connection: %v", errors.Join(io.EOF, orNil(errno)))
		}
		l.leave(v)
		return nil
	}
	if v.bytes == 0 {
		l.waiting--
	}
	v.bytes += int64(n)
	l.tally.now = l.now()
	var err error
	if v.rtmp != nil {
		err = v.rtmp.feed(l.buf[:n], &v.seat)
	} else {
		err = v.flv.feed(l.buf[:n], &v.seat)
	}
	if !l.strict && errors.Is(err, errDismissed) {
		l.leave(v)
		return nil
	}
	return err
}

// leave closes a viewer whose stream the server has ended.
func (l *load) leave(v *viewer) {
	unix.Close(v.fd) // and out of the epoll with it
	v.gone = true
	l.closed++
}

func orNil(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// watch adds a descriptor to an epoll for what comes in; its events carry tag.
func watch(ep, fd, tag int) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(tag)}))
}

// connected returns a connection.
func connected(to unix.Sockaddr) (int, error) {
	return rawio.Connect(to, patience, func(int) error { return nil })
}
