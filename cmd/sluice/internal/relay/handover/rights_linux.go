package handover

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkPeer returns an error when the process at the other end is not this user's.
func checkPeer(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var wrong error
	if err := raw.Control(func(fd uintptr) { peer, wrong = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return err
	}
	if wrong != nil {
		return fmt.Errorf("handover: %w", wrong)
	}
	if own := os.Geteuid(); int(peer.Uid) != own && peer.Uid != 0 {
		return fmt.Errorf("%w: %d, this is user %d", ErrPeer, peer.Uid, own)
	}
	return nil
}

// sendWith sends the head of a message with the descriptor of a socket beside it. The
// descriptor goes as it is: os.File would make the socket of both processes a blocking one.
func sendWith(c *net.UnixConn, head []byte, of syscall.Conn) error {
	raw, err := of.SyscallConn()
	if err != nil {
		return fmt.Errorf("handover: %w", err)
	}
	n := 0
	var wrong error
	err = raw.Control(func(fd uintptr) {
		n, _, wrong = c.WriteMsgUnix(head, unix.UnixRights(int(fd)), nil)
	})
	if err == nil {
		err = wrong
	}
	if err == nil && n < len(head) {
		_, err = c.Write(head[n:])
	}
	if err != nil {
		return fmt.Errorf("handover: %w", err)
	}
	return nil
}

// receiveWith fills head, and returns the descriptor that came beside it.
func receiveWith(c *net.UnixConn, head []byte) (f *os.File, err error) {
	defer func() {
		if err != nil && f != nil {
			f.Close()
			f = nil
		}
	}()
	oob := make([]byte, unix.CmsgSpace(4))
	for at := 0; at < len(head); {
		n, m, flags, _, err := c.ReadMsgUnix(head[at:], oob)
		if n <= 0 && err == nil {
			err = io.EOF
		}
		if err != nil {
			if at == 0 && errors.Is(err, io.EOF) {
				return f, io.EOF
			}
			return f, ending(err)
		}
		at += n
		if m == 0 {
			continue
		}
		list, err := unix.ParseSocketControlMessage(oob[:m])
		if err != nil {
			return f, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		more := flags&unix.MSG_CTRUNC != 0 // or oob has room for another, as its padding allows
		for i := range list {
			fds, err := unix.ParseUnixRights(&list[i])
			if err != nil {
				return f, fmt.Errorf("%w: %w", ErrProtocol, err)
			}
			for _, fd := range fds {
				unix.CloseOnExec(fd)
				if f != nil {
					unix.Close(fd)
					more = true
					continue
				}
				f = os.NewFile(uintptr(fd), "handover")
			}
		}
		if more {
			return f, fmt.Errorf("%w: too many descriptors", ErrProtocol)
		}
	}
	return f, nil
}
