//go:build unix

package sluice_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// connOf makes a connection of a descriptor, which it takes over.
func connOf(t *testing.T, fd int) net.Conn {
	t.Helper()
	f := os.NewFile(uintptr(fd), "socket")
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSocketPairIsRead(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	near, far := connOf(t, fds[0]), connOf(t, fds[1])
	data := testData(100_000)
	send(t, far, data, every(5000))
	r := readerOf(t, paranoid(t), 0, near)
	if p, err := io.ReadAll(r); err != nil || !bytes.Equal(p, data) {
		t.Errorf("%d bytes, %v", len(p), err)
	}
}

func TestSocketWithoutAPeerIsAnErrorAndNoPanic(t *testing.T) {
	for _, family := range []int{syscall.AF_UNIX, syscall.AF_INET} {
		fd, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		r := readerOf(t, paranoid(t), 0, connOf(t, fd))
		if _, err := r.ReadByte(); err == nil {
			t.Error("a byte was read")
		}
	}
}

// TestDatagramsAreReadThroughRead: a reader of the descriptor would not know
// where one ends.
func TestDatagramsAreReadThroughRead(t *testing.T) {
	dir, err := os.MkdirTemp("", "sluice")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	addr := &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixgram"}
	near, err := net.ListenUnixgram("unixgram", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = near.Close() }()
	far, err := net.DialUnix("unixgram", nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	r := readerOf(t, paranoid(t), 4096, near)
	write(t, far, "first")
	write(t, far, "second")
	if p, err := r.Next(11); string(p) != "firstsecond" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
}
