//go:build unix

package aio_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

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
