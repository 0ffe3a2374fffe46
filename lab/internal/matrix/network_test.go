package matrix

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// echoing is a server that sends back what comes, until the test ends.
func echoing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func TestANetworkDelaysEachWayAndEnds(t *testing.T) {
	target := echoing(t)
	const latency = 20 * time.Millisecond
	n, addr, err := through(t.Context(), target, latency, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	began := time.Now()
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, 5)
	if _, err := io.ReadFull(c, back); err != nil || string(back) != "hello" {
		t.Fatalf("%q, %v", back, err)
	}
	if took := time.Since(began); took < 2*latency {
		t.Errorf("a round trip took %v, less than twice %v", took, latency)
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(c, back); err == nil {
		t.Error("the connection outlives the network")
	}
	if c, err := n.listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the network listens after its end: %v, %v", c, err)
	}
}

func TestANetworkStandsBeforeURLs(t *testing.T) {
	target := echoing(t)
	n, addr, err := through(t.Context(), "http://"+target+"/path?x=1", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if want := "http://" + n.listener.Addr().String() + "/path?x=1"; addr != want {
		t.Errorf("%s, want %s", addr, want)
	}
	for _, bad := range []string{"unix:sock", "file:x", "://"} {
		if _, _, err := through(t.Context(), bad, 0, 0); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
