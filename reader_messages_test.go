package sluice_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// messagePair returns two ends of a socket of messages, whose writes keep their order.
func messagePair(t *testing.T, network string) (near, far net.Conn) {
	t.Helper()
	if network == "udp" {
		l, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		if far, err = net.Dial("udp", l.LocalAddr().String()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close(); far.Close() })
		return l, far
	}
	if runtime.GOOS != "linux" {
		t.Skip("this system may have no such sockets")
	}
	l, err := net.Listen(network, filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if far, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if near, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// A reader over a socket of messages loses nothing of them, whatever it is asked for.
func TestMessagesAreReadWhole(t *testing.T) {
	for _, network := range []string{"udp", "unixpacket"} {
		for _, budget := range []int64{0, 1 << 20} {
			a := mem.New(mem.Options{Name: t.Name(), Budget: budget, Leak: mem.LeakTrace})
			sluicetest.NoLeaks(t, a)
			near, far := messagePair(t, network)
			r := sluice.NewBufReader(near, sluice.Options{Allocator: a})
			defer r.Recycle()
			if err := r.SetTimeout(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			for i, n := range []int{1, 1400, 3, 60000, 900, 20000} {
				sent := bytes.Repeat([]byte{byte('a' + i)}, n)
				if network == "udp" {
					_, _ = far.Write(nil) // a message, too
				}
				if _, err := far.Write(sent); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, n)
				var err error
				switch first := min(n, 7); i % 3 {
				case 0:
					_, err = io.ReadFull(r, got)
				case 1:
					_, err = io.ReadFull(r, got[:first])
					if err == nil {
						_, err = io.ReadFull(r, got[first:])
					}
				default:
					var p []byte
					p, err = r.Next(n)
					copy(got, p)
				}
				if err != nil || !bytes.Equal(got, sent) {
					t.Fatalf("%s, budget %d: of message %d, of %d bytes, %d are wrong, %v", network, budget, i, n, n-bytes.Count(got, sent[:1]), err)
				}
			}
			if err := r.SetTimeout(time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if _, err := r.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: after the last message: %v", network, err)
			}
		}
	}
}

// Detach hands on what is left of a message, and the socket itself.
func TestDetachFromMessages(t *testing.T) {
	near, far := messagePair(t, "udp")
	r := sluice.NewBufReader(near)
	if _, err := far.Write(make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); err != nil {
		t.Fatal(err)
	}
	rest, source := r.Detach()
	defer rest.Release()
	if rest.Size != 4999 || source != io.Reader(near) {
		t.Errorf("Detach returns %d bytes and a %T", rest.Size, source)
	}
}

// What is longer than the room for a message is lost, and the reader says so.
func TestMessageThatIsTooLong(t *testing.T) {
	near, far := messagePair(t, "unixpacket")
	r := sluice.NewBufReader(near)
	defer r.Recycle()
	for _, n := range []int{100 << 10, 3} {
		if _, err := far.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Next(3); !errors.Is(err, sluice.ErrTooLong) {
		t.Errorf("a message of 100 KiB: %v", err)
	}
	if _, err := r.Next(3); err != nil {
		t.Errorf("the message after it: %v", err)
	}
}
