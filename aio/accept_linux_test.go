package aio_test

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/aio"
)

// Accepted connections have the options that package net sets, also where the program has asked it for
// others.
func TestOptionsOfAcceptedConnections(t *testing.T) {
	for i, config := range []net.ListenConfig{
		{},
		{KeepAlive: -1},
		{KeepAlive: 90*time.Second + 1},
		{KeepAlive: -1, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 100 * time.Second, Interval: 7 * time.Second, Count: 3}},
		{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Interval: -1, Count: -1}},
		{KeepAliveConfig: net.KeepAliveConfig{Idle: time.Hour}}, // which is not enabled
		{KeepAlive: 24 * time.Hour}, // more than the kernel takes
	} {
		nets, err := config.Listen(t.Context(), "tcp", ownAddress())
		if err != nil {
			t.Fatal(err)
		}
		defer nets.Close()
		listener, err := config.Listen(t.Context(), "tcp", ownAddress())
		if err != nil {
			t.Fatal(err)
		}
		h := addresses{make(chan net.Conn, 2)}
		early := dialTo(t, "tcp", listener.Addr().String()) // before there are options to inherit
		server := serve(t, &aio.Server{Handler: h}, []net.Listener{listener})
		late := dialTo(t, "tcp", listener.Addr().String())
		defer early.Close()
		defer late.Close()
		client := dialTo(t, "tcp", nets.Addr().String())
		defer client.Close()
		accepted, err := nets.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		want := optionsOf(t, accepted)
		for range 2 {
			if got := optionsOf(t, <-h.conns); got != want {
				t.Errorf("configuration %d: options %v, package net has %v", i, got, want)
			}
		}
		server.stop()
		if err := server.wait(); err != nil {
			t.Error(err)
		}
	}
}

// optionsOf are those that package net sets.
func optionsOf(t *testing.T, conn net.Conn) (values [7]int) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		for i, o := range [][2]int{
			{unix.IPPROTO_TCP, unix.TCP_NODELAY}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
		} {
			if values[i], err = unix.GetsockoptInt(int(fd), o[0], o[1]); err != nil {
				t.Error(err)
			}
		}
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		closes, err2 := unix.FcntlInt(fd, unix.F_GETFD, 0)
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
		values[5], values[6] = flags&unix.O_NONBLOCK, closes&unix.FD_CLOEXEC
	}); err != nil {
		t.Fatal(err)
	}
	return values
}

// Without descriptors nothing is accepted and everything else goes on; when there are
// some again, the connections that waited are served.
func TestServeWithoutDescriptors(t *testing.T) {
	overBothDrivers(t, serveWithoutDescriptors)
}

func serveWithoutDescriptors(t *testing.T, d aio.Driver) {
	listeners := listenOn(t, 1)
	addr := listeners[0].Addr().String()
	var mu sync.Mutex
	heard := 0
	refused := make(chan struct{}, 1)
	server := serve(t, &aio.Server{Handler: &echoes{}, Options: aio.Options{Driver: d}, OnError: func(err error) {
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
