//go:build linux

package systemd

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// given puts listeners at descriptors one after the other, and returns the first.
func given(t *testing.T, listeners ...net.Listener) int {
	t.Helper()
	const first = 200
	for i, l := range listeners {
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Dup2(int(f.Fd()), first+i); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return first
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestSocketsAreTakenByNameAndByPort(t *testing.T) {
	a, b, c := listener(t), listener(t), listener(t)
	pid := strconv.Itoa(os.Getpid())
	s, err := inherited(env("LISTEN_PID", pid, "LISTEN_FDS", "3", "LISTEN_FDNAMES", "x.socket:http"), os.Getpid(), given(t, a, b, c))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(a.Addr().String())
	if l := s.Take("rtmp", ":"+port); l == nil || l.Addr().String() != a.Addr().String() {
		t.Errorf("by port: %v", l)
	} else {
		l.Close()
	}
	if l := s.Take("http", ":8080"); l == nil || l.Addr().String() != b.Addr().String() {
		t.Errorf("by name: %v", l)
	} else {
		l.Close()
	}
	for _, address := range []string{":0", "", "off", ":" + port} {
		if l := s.Take("https", address); l != nil {
			t.Errorf("%s: %v", address, l.Addr())
		}
	}
	if left := s.Left(); len(left) != 1 || left[0] != c.Addr().String() {
		t.Errorf("left: %v", left)
	}
	s.Close()
	if len(s.Left()) != 0 {
		t.Error("after Close")
	}
}

func TestSocketsThatAreNotThere(t *testing.T) {
	pid := strconv.Itoa(os.Getpid())
	for _, getenv := range []func(string) string{env(), env("LISTEN_PID", "1", "LISTEN_FDS", "1"), env("LISTEN_PID", pid), env("LISTEN_PID", pid, "LISTEN_FDS", "0")} {
		if s, err := inherited(getenv, os.Getpid(), 900); err != nil || len(s.list) != 0 {
			t.Errorf("%v %v", s, err)
		}
	}
	for _, n := range []string{"-1", "65", "x", "99999999999999999999", "1"} {
		if _, err := inherited(env("LISTEN_PID", pid, "LISTEN_FDS", n), os.Getpid(), 900); !errors.Is(err, ErrSockets) {
			t.Errorf("%s sockets: %v", n, err)
		}
	}
}

// A socket for datagrams, of which there is no listener, is said to be one.
func TestSocketForDatagrams(t *testing.T) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f, err := conn.File()
	if err != nil {
		t.Fatal(err)
	}
	// Inherited closes it, under its number.
	n, err := unix.Dup(int(f.Fd()))
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	_, err = inherited(env("LISTEN_PID", strconv.Itoa(os.Getpid()), "LISTEN_FDS", "1"), os.Getpid(), n)
	if !errors.Is(err, ErrSockets) || !strings.Contains(err.Error(), "ListenDatagram=") || !strings.Contains(err.Error(), conn.LocalAddr().String()) {
		t.Errorf("%v", err)
	}
}

func TestNotify(t *testing.T) {
	name := filepath.Join(t.TempDir(), "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := Notify(env("NOTIFY_SOCKET", name), Ready); err != nil {
		t.Fatal(err)
	}
	var b [100]byte
	if n, err := conn.Read(b[:]); err != nil || string(b[:n]) != Ready {
		t.Errorf("%q %v", b[:n], err)
	}
	if err := Notify(env(), Ready); err != nil {
		t.Error(err)
	}
	if err := Notify(env("NOTIFY_SOCKET", name+"x"), Ready); err == nil {
		t.Error("no socket, no error")
	}
}
