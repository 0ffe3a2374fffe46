package live

import (
	"errors"
	"net"
	"testing"
	"time"
)

// Connections come and go so that their descriptors are used again and again: the end of
// one is never taken for that of a later one, and no end is missed.
func TestEndsOfReusedDescriptors(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	descriptors := map[uintptr]int{}
	for i := range 300 {
		peer, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		v := add(t, w, conn, p.Stream(), ViewerOptions{Unread: true})
		v.link.raw.Control(func(fd uintptr) { descriptors[fd]++ })
		switch i % 3 {
		case 0: // it leaves
			peer.Close()
		case 1: // it is closed, and leaves at the same time
			go peer.Close()
			v.Close(nil)
		case 2: // it stays, while others have left
			if err := v.Err(); err != nil {
				t.Fatalf("viewer %d, which is there, was closed for %v", i, err)
			}
			v.Close(ErrSlow)
		}
		select {
		case <-v.Done():
		case <-time.After(eventTimeout):
			t.Fatalf("viewer %d: its end was missed", i)
		}
		if err := v.Err(); i%3 == 0 && !errors.Is(err, ErrGone) || i%3 == 2 && !errors.Is(err, ErrSlow) {
			t.Fatalf("viewer %d was closed for %v", i, err)
		}
		peer.Close()
	}
	most := 0
	for _, n := range descriptors {
		most = max(most, n)
	}
	if most < 10 {
		t.Errorf("no descriptor was used more than %d times: this says nothing", most)
	}
}

// Bytes from a viewer are reported once for each time that they are waited for, by one
// call, and so is its end. What cannot be waited for is refused.
func TestAwaitReadable(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	conn, peer := pair(t)
	called := make(chan struct{}, 10)
	v := add(t, w, conn, p.Stream(), ViewerOptions{OnReadable: func() { called <- struct{}{} }})
	write := func() {
		if _, err := peer.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
	}
	write()
	b := make([]byte, 10)
	for i := range 3 {
		if !w.AwaitReadable(v) {
			t.Fatal("refused")
		}
		if i > 0 {
			write()
		}
		waitFor(t, called, "call for bytes")
		write() // nothing waits for these
		for n := 0; n < 6; {
			k, err := conn.Read(b[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += k
		}
	}
	if !w.AwaitReadable(v) {
		t.Fatal("refused")
	}
	if n := len(called); n != 0 {
		t.Fatalf("%d calls too many", n)
	}
	peer.Close()
	waitFor(t, called, "call for the end")
	if err := v.Err(); err != nil {
		t.Errorf("closed for %v, which is the caller's to decide", err)
	}
	v.Close(nil)
	waitFor(t, v.Done(), "end")
	if w.AwaitReadable(v) {
		t.Error("a closed viewer is waited for")
	}

	a, other := net.Pipe()
	defer other.Close()
	if piped := add(t, w, a, p.Stream(), ViewerOptions{OnReadable: func() {}}); w.AwaitReadable(piped) {
		t.Error("a connection without a descriptor is waited for")
	}
}
