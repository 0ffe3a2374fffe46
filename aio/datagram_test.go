package aio_test

import (
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// datagrams returns a socket, and a connection to it for a watcher.
func datagrams(t *testing.T) (peer net.PacketConn, conn net.Conn) {
	t.Helper()
	peer, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { peer.Close() })
	if conn, err = net.Dial("udp", peer.LocalAddr().String()); err != nil {
		t.Fatal(err)
	}
	return peer, conn
}

// An empty datagram is a message and not the end, and leaves nothing to release.
func TestEmptyDatagrams(t *testing.T) {
	a := mem.New(mem.Options{Name: "datagrams"})
	sluicetest.NoLeaks(t, a)
	w, err := aio.NewWatcherOptions(aio.Options{Allocator: a})
	if err != nil {
		t.Fatal(err)
	}
	if kind, _ := w.Driver(); kind == aio.Std {
		t.Skip("for a net.Conn an empty read is no message")
	}
	peer, conn := datagrams(t)
	deadline := time.Now().Add(eventTimeout)
	for _, err := range []error{
		w.ReadBuf(0, conn, 0, deadline),
		w.ReadTimeout(0, conn, nil, deadline),
		w.ReadTimeout(0, conn, make([]byte, 4), deadline),
		w.ReadTimeout(3, conn, make([]byte, 4), deadline),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, message := range []string{"", "", "", "abc"} {
		if _, err := peer.WriteTo([]byte(message), conn.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
	for seen := 0; seen < 4; {
		results, err := w.WaitIO()
		if err != nil {
			t.Fatal(err)
		}
		for i := range results {
			seen++
			r := &results[i]
			if r.Error != nil || r.Size != r.Context.(int) || r.Buf.Valid() {
				t.Errorf("read %d bytes, %v, with a Buf: %v; want %d", r.Size, r.Error, r.Buf.Valid(), r.Context)
			}
		}
	}
	w.Close()
	_, _ = w.WaitIO()
}

// A Memory is one datagram, however many parts it has.
func TestMemoryIsOneDatagram(t *testing.T) {
	for _, driver := range []aio.Driver{aio.Auto, aio.Std} {
		for _, c := range []struct{ parts, size int }{{4, 1000}, {1100, 3}} {
			w, err := aio.NewWatcherOptions(aio.Options{Driver: driver})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			peer, conn := datagrams(t)
			var m mem.Memory
			for range c.parts {
				m.Append(mem.Wrap(make([]byte, c.size), nil))
			}
			if err := w.WriteMemory(nil, conn, &m, time.Now().Add(eventTimeout)); err != nil {
				t.Fatal(err)
			}
			if results, err := w.WaitIO(); err != nil || results[0].Error != nil {
				t.Fatal(err, results)
			}
			if err := peer.SetReadDeadline(time.Now().Add(eventTimeout)); err != nil {
				t.Fatal(err)
			}
			n, _, err := peer.ReadFrom(make([]byte, 8<<10))
			if err != nil || n != c.parts*c.size {
				t.Errorf("%v: %d parts of %d bytes came as a datagram of %d, %v", driver, c.parts, c.size, n, err)
			}
		}
	}
}
