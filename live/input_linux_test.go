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
		case <-time.After(patience):
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
