package socket

import (
	"context"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// optionsOf are those that package net sets on each connection.
func optionsOf(t *testing.T, fd int) (values [5]int) {
	for i, o := range [...][2]int{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
	} {
		v, err := unix.GetsockoptInt(fd, o[0], o[1])
		if err != nil {
			t.Fatal(err)
		}
		values[i] = v
	}
	return values
}

// queued opens n connections to l, none of them accepted when it returns.
func queued(t *testing.T, l net.Listener, n int) {
	for range n {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
}

// listens is a Socket for l, a listener of package net.
func listens(t *testing.T, l net.Listener) *Socket {
	s, err := Listening(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &s
}

// acceptAll accepts n connections, and has each checked.
func acceptAll(t *testing.T, s *Socket, n int, check func(i, fd int)) {
	for i := range n {
		c, from, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if !from.IsValid() || !from.Addr().IsLoopback() || from.Port() == 0 {
			t.Errorf("connection %d comes from %v", i, from)
		}
		check(i, int(c.FD))
		c.Close()
	}
}

// Connections that came before the listener had its options have them too. When enough
// in a row have inherited them nothing is asked any more, although the queue never was
// empty.
func TestQueuedConnectionsHaveTheOptions(t *testing.T) {
	for _, marked := range []bool{false, true} {
		config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) {
				if marked { // by the program
					unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
				}
			})
		}}
		l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		const before = 3
		queued(t, l, before)
		s := listens(t, l)
		queued(t, l, enoughMarked+1)
		want := [5]int{1, 1, keepAlive, keepAlive, keepAliveProbes}
		acceptAll(t, s, before+enoughMarked, func(i, fd int) {
			if got := optionsOf(t, fd); got != want {
				t.Errorf("marked by the program %v: connection %d has the options %v, want %v", marked, i, got, want)
			}
		})
		if s.inherits == marked {
			t.Errorf("marked by the program %v: nothing is asked any more: %v", marked, s.inherits)
		}
		acceptAll(t, s, 1, func(int, int) {})
		if _, _, err := s.Accept(); err != unix.EAGAIN || !s.inherits {
			t.Errorf("an empty queue says %v, and nothing is asked any more: %v", err, s.inherits)
		}
	}
}

// The address of a peer is right in both families, also when one socket takes both.
func TestAddressOfAnAcceptedConnection(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("no %s here: %v", at, err)
			continue
		}
		defer l.Close()
		s := listens(t, l)
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		c, from, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got, want := net.TCPAddrFromAddrPort(from).String(), client.LocalAddr().String(); got != want {
			t.Errorf("a connection to %s comes from %s, want %s", at, got, want)
		}
	}
}
