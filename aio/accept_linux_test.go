package aio_test

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio"
)

// Accepted connections have the options that package net sets.
func TestOptionsOfAcceptedConnections(t *testing.T) {
	h := addresses{make(chan net.Conn, 1)}
	listeners := listenOn(t, 1)
	server := serve(t, &aio.Server{Handler: h}, listeners)
	options := func(conn net.Conn) (values []int) {
		raw, err := conn.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) {
			for _, o := range [][2]int{
				{unix.IPPROTO_TCP, unix.TCP_NODELAY}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
				{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
			} {
				v, err := unix.GetsockoptInt(int(fd), o[0], o[1])
				if err != nil {
					t.Error(err)
				}
				values = append(values, v)
			}
			flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
			closes, err2 := unix.FcntlInt(fd, unix.F_GETFD, 0)
			if err := errors.Join(err, err2); err != nil {
				t.Error(err)
			}
			values = append(values, flags&unix.O_NONBLOCK, closes&unix.FD_CLOEXEC)
		}); err != nil {
			t.Fatal(err)
		}
		return values
	}
	client := dialTo(t, "tcp", listeners[0].Addr().String())
	own, nets := options(<-h.conns), options(client)
	for i := range nets {
		if own[i] != nets[i] {
			t.Errorf("option %d is %d, package net has %d", i, own[i], nets[i])
		}
	}
	server.stop()
	if err := server.wait(); err != nil {
		t.Error(err)
	}
}

// Without descriptors nothing is accepted and everything else goes on; when there are
// some again, the connections that waited are served.
func TestServeWithoutDescriptors(t *testing.T) {
	listeners := listenOn(t, 1)
	addr := listeners[0].Addr().String()
	var mu sync.Mutex
	heard := 0
	refused := make(chan struct{}, 1)
	server := serve(t, &aio.Server{Handler: &echoes{}, OnError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if heard++; !errors.Is(err, syscall.EMFILE) {
			t.Errorf("OnError hears %v", err)
		}
		select {
		case refused <- struct{}{}:
		default:
		}
	}}, listeners)
	first := dialTo(t, "tcp", addr)
	sayAndHear(t, first, "before")
	// The clients have their descriptors, the server none for them.
	var clients [2]int
	for i := range clients {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		clients[i] = fd
	}
	release := exhaust(t, 0)
	for _, fd := range clients {
		at := listeners[0].Addr().(*net.TCPAddr)
		to := &unix.SockaddrInet4{Port: at.Port, Addr: at.AddrPort().Addr().As4()}
		if err := unix.Connect(fd, to); err != nil {
			t.Fatal(err)
		}
	}
	<-refused
	sayAndHear(t, first, "meanwhile")
	<-refused
	mu.Lock()
	// Each pause is reported once, however many operations there are.
	if heard > 10 {
		t.Errorf("OnError was called %d times", heard)
	}
	mu.Unlock()
	release()
	for _, fd := range clients {
		if _, err := unix.Write(fd, []byte("after")); err != nil {
			t.Fatal(err)
		}
		var p [5]byte
		if n, err := unix.Read(fd, p[:]); err != nil || string(p[:n]) != "after" {
			t.Errorf("the client reads %q, %v", p[:n], err)
		}
	}
	server.stop()
	if err := server.wait(); err != nil {
		t.Error(err)
	}
}
