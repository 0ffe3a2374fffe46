package calibrate

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A socket waits in the system call, and not in the runtime's poller.
type socket int

func (s socket) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(s), p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (s socket) Write(p []byte) (int, error) {
	for sent := 0; ; {
		n, err := unix.SendmsgN(int(s), p[sent:], nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return sent, os.NewSyscallError("sendmsg", err)
		default:
			if sent += n; sent == len(p) {
				return sent, nil
			}
		}
	}
}

// newPair connects two sockets over loopback. shut makes calls that wait in
// either socket return; release closes both, after their last use.
func newPair() (near, far io.ReadWriter, shut, release func(), err error) {
	listener, err := newSocket()
	if err != nil {
		return nil, nil, nil, nil, err
	}
	defer unix.Close(listener)
	loopback := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Bind(listener, loopback); err != nil {
		return nil, nil, nil, nil, os.NewSyscallError("bind", err)
	}
	if err := unix.Listen(listener, 1); err != nil {
		return nil, nil, nil, nil, os.NewSyscallError("listen", err)
	}
	addr, err := unix.Getsockname(listener)
	if err != nil {
		return nil, nil, nil, nil, os.NewSyscallError("getsockname", err)
	}
	a, err := newSocket()
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if err := unix.Connect(a, addr); err != nil {
		unix.Close(a)
		return nil, nil, nil, nil, os.NewSyscallError("connect", err)
	}
	b, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
	if err != nil {
		unix.Close(a)
		return nil, nil, nil, nil, os.NewSyscallError("accept4", err)
	}
	shut = func() {
		// Closing alone would leave a read waiting.
		unix.Shutdown(a, unix.SHUT_RDWR)
		unix.Shutdown(b, unix.SHUT_RDWR)
	}
	release = func() {
		unix.Close(a)
		unix.Close(b)
	}
	for _, fd := range []int{a, b} {
		patience := unix.NsecToTimeval(int64(loopbackPatience))
		err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
			unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience))
		if err != nil {
			release()
			return nil, nil, nil, nil, os.NewSyscallError("setsockopt", err)
		}
	}
	return socket(a), socket(b), shut, release, nil
}

func newSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return fd, os.NewSyscallError("socket", err)
}
