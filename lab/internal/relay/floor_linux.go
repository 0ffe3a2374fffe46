package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// mostUnsent is what the floor keeps for a viewer who does not read.
const mostUnsent = 16 << 20

// A floor is the least that a relay can do: one thread, one buffer, and for
// each viewer one send of what has come in a window, or of each frame where
// there is no window. It keeps no frames for viewers that join, does not make
// them wait for a key frame, and knows one stream.
type floor struct {
	ep       int
	listener int
	form     string
	window   time.Duration
	peers    map[int]*floorPeer
	viewers  []*floorPeer
	head     [][]byte // what stands before the media, for each viewer to get first
	batch    []byte   // frames that wait for the end of the window
	wire     []byte   // the frame under way
	kind     uint8
	time     uint32
	payload  []byte
	isHead   bool
	buf      []byte
	due      time.Time // the end of the window
}

// ServeFloor listens on a free port of the loopback interface for both the
// publisher, by RTMP, and the viewers, by form; says the address on out; and
// goes on until in ends.
func ServeFloor(form string, window time.Duration, in io.Reader, out io.Writer) error {
	if form != RTMP && form != FLV || window < 0 {
		return fmt.Errorf("relay: a floor with viewers by %q and a window of %v", form, window)
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	defer l.Close()
	// A duplicate: the listener's own descriptor is in the runtime's poller. Fd
	// has made it wait, and the listener with it, which is the same to the kernel.
	file, err := l.File()
	if err != nil {
		return err
	}
	defer file.Close()
	f := &floor{listener: int(file.Fd()), form: form, window: window, peers: map[int]*floorPeer{}, buf: make([]byte, longRead)}
	if err := unix.SetNonblock(f.listener, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		failed <- f.run()
	}()
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		ended <- err
	}()
	select {
	case err = <-failed:
	case err = <-ended:
	}
	return err
}

func (f *floor) run() (err error) {
	if f.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	defer unix.Close(f.ep)
	if err := watch(f.ep, f.listener, f.listener); err != nil {
		return err
	}
	events := make([]unix.EpollEvent, 512)
	f.due = time.Now().Add(f.window)
	for {
		n, err := unix.EpollWait(f.ep, events, f.patience())
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("epoll_wait", err)
		}
		for i := range events[:max(n, 0)] {
			if fd := int(events[i].Fd); fd == f.listener {
				err = f.accept()
			} else {
				f.serve(f.peers[fd], events[i].Events)
			}
			if err != nil && err != unix.EINTR {
				return err
			}
		}
		if now := time.Now(); f.window > 0 && !now.Before(f.due) {
			f.flush()
			for !f.due.After(now) {
				f.due = f.due.Add(f.window)
			}
		}
	}
}

// patience returns the timeout of epoll_wait in milliseconds; -1 is none.
func (f *floor) patience() int {
	if f.window == 0 {
		return -1
	}
	return max(0, int((time.Until(f.due)+time.Millisecond-1)/time.Millisecond))
}

// flush sends the batch to all.
func (f *floor) flush() {
	if len(f.batch) == 0 {
		return
	}
	for _, v := range f.viewers {
		v.write(f, f.batch)
	}
	f.sweep()
	f.batch = f.batch[:0]
}

// sweep drops the viewers to whom nothing could be sent.
func (f *floor) sweep() {
	kept := f.viewers[:0]
	for _, v := range f.viewers {
		if !v.dead {
			kept = append(kept, v)
			continue
		}
		f.drop(v)
	}
	clear(f.viewers[len(kept):])
	f.viewers = kept
}

func (f *floor) drop(p *floorPeer) {
	delete(f.peers, p.fd)
	unix.Close(p.fd)
}

func (f *floor) accept() error {
	for {
		fd, _, err := unix.Accept4(f.listener, unix.SOCK_CLOEXEC)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err == unix.EINTR, err == unix.ECONNABORTED:
			continue
		case err != nil:
			return os.NewSyscallError("accept4", err)
		}
		if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), watch(f.ep, fd, fd)); err != nil {
			return fmt.Errorf("relay: an accepted connection: %w", err)
		}
		f.peers[fd] = &floorPeer{fd: fd}
	}
}

// serve does what the events of a connection allow.
func (f *floor) serve(p *floorPeer, events uint32) {
	if p == nil {
		return
	}
	if events&unix.EPOLLOUT != 0 {
		p.write(f, nil)
	}
	if events&^unix.EPOLLOUT != 0 {
		n, errno := rawio.Recv(p.fd, f.buf)
		switch {
		case errno == unix.EAGAIN:
		case errno != 0 || n == 0:
			p.dead = true
		case p.take(f, f.buf[:n]) != nil:
			p.dead = true
		}
	}
	if p.dead {
		if p.viewing {
			f.sweep()
		} else {
			f.drop(p)
		}
	}
}

// A floor is the sink of what its publisher sends.

func (f *floor) started(kind uint8, t uint32, _ int, first, second byte) error {
	f.kind, f.time, f.payload, f.isHead = kind, t, f.payload[:0], sets(kind, first, second)
	return nil
}

func (f *floor) passed(p []byte) error {
	f.payload = append(f.payload, p...)
	return nil
}

func (f *floor) ended() error {
	f.wire = f.wire[:0]
	if f.isHead {
		f.setHead(f.kind, f.payload)
		return nil
	}
	if f.window > 0 {
		f.batch = f.frame(f.batch, f.kind, f.time, f.payload)
		return nil
	}
	f.wire = f.frame(f.wire, f.kind, f.time, f.payload)
	for _, v := range f.viewers {
		v.write(f, f.wire)
	}
	f.sweep()
	return nil
}

func (f *floor) noted(kind uint8, payload []byte) error {
	if kind == kindScript {
		if name := commandName(payload); name == "@setDataFrame" {
			payload = payload[3+len(name):]
		}
		f.setHead(kind, payload)
	}
	return nil
}

func (f *floor) setHead(kind uint8, payload []byte) {
	f.head = append(f.head, f.frame(nil, kind, 0, payload))
}

// frame appends a frame as viewers get it.
func (f *floor) frame(dst []byte, kind uint8, time uint32, payload []byte) []byte {
	if f.form == FLV {
		return appendTag(dst, kind, time, payload)
	}
	return appendMessage(dst, kind, streamID, time, payload, outChunk)
}
