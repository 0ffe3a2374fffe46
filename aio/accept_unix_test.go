//go:build unix

package aio_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// The names of both ends of a Unix socket are those that package net gives.
func TestNamesOfUnixSockets(t *testing.T) {
	dir, err := os.MkdirTemp("", "aio") // t.TempDir may be too long for such a name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	named := filepath.Join(dir, "client")
	names := func(l net.Listener, o aio.Options, client string) (names [2]string) {
		opened := make(chan [2]string, 1)
		s := serveConns(t, &aio.ConnHandler[int]{
			Open: func(c *aio.Conn[int]) error {
				opened <- [2]string{c.RemoteAddr().String(), c.LocalAddr().String()}
				return nil
			},
			Data: func(*aio.Conn[int], []byte) error { return nil },
		}, aio.Server{Options: o}, l)
		from := &net.UnixAddr{Name: client, Net: "unix"}
		if client == "" {
			from = nil
		}
		c, err := net.DialUnix("unix", from, l.Addr().(*net.UnixAddr))
		if err != nil {
			t.Fatal(err)
		}
		names = <-opened
		c.Close()
		_ = os.Remove(client)
		s.end()
		return names
	}
	for _, client := range []string{named, ""} {
		want := names(unixListener(t), aio.Options{Driver: aio.Std}, client)
		if client != "" && want[0] != client {
			t.Errorf("package net says %q of %q", want[0], client)
		}
		for _, driver := range driversHere(t) {
			if got := names(unixListener(t), aio.Options{Driver: driver}, client); got[0] != want[0] || (got[1] == "") != (want[1] == "") {
				t.Errorf("%v: the ends are %q, want %q", driver, got, want)
			}
		}
	}
}

// Messages of a listener for such are whole, also when several have come at once.
func TestServeMessages(t *testing.T) {
	for _, driver := range driversHere(t) {
		l, err := net.Listen("unixpacket", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			if runtime.GOOS == "linux" {
				t.Fatal(err)
			}
			t.Skipf("this system may have no such sockets: %v", err)
		}
		opened, came := make(chan *aio.Conn[int], 1), make(chan int, 3)
		s := serveConns(t, &aio.ConnHandler[int]{
			Open: func(c *aio.Conn[int]) error {
				c.Pause()
				opened <- c
				return nil
			},
			Data: func(_ *aio.Conn[int], p []byte) error {
				came <- len(p)
				return nil
			},
		}, aio.Server{Options: aio.Options{Driver: driver}}, l)
		client, err := net.Dial("unixpacket", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := <-opened
		sizes := []int{1, 20_000, 3}
		for _, n := range sizes {
			if _, err := client.Write(make([]byte, n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Do(c.Resume); err != nil {
			t.Fatal(err)
		}
		for _, want := range sizes {
			select {
			case n := <-came:
				if n != want {
					t.Errorf("%v: Data gets %d bytes of a message of %d", driver, n, want)
				}
			case <-time.After(atMost):
				t.Fatalf("%v: the message of %d bytes does not come", driver, want)
			}
		}
		client.Close()
		s.addrs = nil
		s.end()
	}
}
