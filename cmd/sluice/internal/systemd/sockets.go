package systemd

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

const (
	// firstDescriptor is where the sockets begin: SD_LISTEN_FDS_START.
	firstDescriptor = 3
	// mostSockets bounds them.
	mostSockets = 64
)

// ErrSockets means that the environment promises sockets that are not there.
var ErrSockets = errors.New("systemd: LISTEN_FDS is wrong")

// Sockets are listeners that the process was given when it was started.
type Sockets struct {
	list []socket
}

type socket struct {
	name string // of LISTEN_FDNAMES
	net.Listener
}

// Inherited returns the sockets that this process, pid, was given, none in most cases.
// getenv is os.Getenv. It can be called once: the descriptors are not what they were
// after it. An error matches ErrSockets.
func Inherited(getenv func(string) string, pid int) (*Sockets, error) {
	return inherited(getenv, pid, firstDescriptor)
}

func inherited(getenv func(string) string, pid, first int) (*Sockets, error) {
	s := &Sockets{}
	whose, count := getenv("LISTEN_PID"), getenv("LISTEN_FDS")
	if whose != strconv.Itoa(pid) || count == "" {
		return s, nil // for another process, which has started this one
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > mostSockets {
		return nil, fmt.Errorf("%w: %.20q is not a number from 0 to %d", ErrSockets, count, mostSockets)
	}
	names := strings.Split(getenv("LISTEN_FDNAMES"), ":")
	for i := range n {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		// FileListener duplicates the descriptor; the copy is closed on exec.
		f := os.NewFile(uintptr(first+i), name)
		if f == nil {
			s.Close()
			return nil, fmt.Errorf("%w: descriptor %d", ErrSockets, first+i)
		}
		l, err := net.FileListener(f)
		if err != nil {
			if p, wrong := net.FilePacketConn(f); wrong == nil {
				p.Close()
				err = fmt.Errorf("%s is a socket for datagrams (ListenDatagram=): SRT and WebRTC open theirs themselves", p.LocalAddr())
			}
		}
		f.Close()
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("%w: descriptor %d: %w", ErrSockets, first+i, err)
		}
		s.list = append(s.list, socket{name, l})
	}
	return s, nil
}

// Take returns the socket for a setting: the one of that name, or else the one with the
// port of the setting's address. It returns nil when there is none. The caller closes it.
func (s *Sockets) Take(setting, address string) net.Listener {
	_, want, _ := net.SplitHostPort(address)
	for _, matches := range []func(socket) bool{
		func(l socket) bool { return l.name == setting },
		func(l socket) bool {
			at, err := netip.ParseAddrPort(l.Addr().String())
			return err == nil && want != "" && want != "0" && strconv.Itoa(int(at.Port())) == want
		},
	} {
		for i, l := range s.list {
			if matches(l) {
				s.list = append(s.list[:i], s.list[i+1:]...)
				return l.Listener
			}
		}
	}
	return nil
}

// Left returns the addresses of the sockets that were not taken.
func (s *Sockets) Left() (addresses []string) {
	for _, l := range s.list {
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// Close closes the sockets that were not taken.
func (s *Sockets) Close() {
	for _, l := range s.list {
		l.Close()
	}
	s.list = nil
}
