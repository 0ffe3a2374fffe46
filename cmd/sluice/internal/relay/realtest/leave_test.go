//go:build linux

package realtest

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"
)

// HTTP viewers who leave while the stream is silent are seen to leave within a
// second.
func TestViewersWhoLeaveASilentStream(t *testing.T) {
	s := serve(t, flags("--grace 10m")) // the publisher is ended for its silence
	publisher, err := net.Dial("tcp", s.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer publisher.Close()
	// The beginning of a stream, and no more of it.
	body := "FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00" + "\x08\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00" + "\xaf\x00\x12\x10" + "\x00\x00\x00\x0f"
	if _, err := publisher.Write([]byte("POST /live/s.flv HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + body)); err != nil {
		t.Fatal(err)
	}
	s.awaitLive(t, "live/s")
	var viewers []net.Conn
	for range 10 {
		c, err := net.Dial("tcp", s.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(lengthened(5 * time.Second)))
		if _, err := c.Write([]byte("GET /live/s.flv HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "HTTP/1.1 200") {
			t.Fatalf("%q, %v", line, err) // the status does not wait for a frame
		}
		viewers = append(viewers, c)
	}
	s.awaitViewers(t, "live/s", 10, lengthened(5*time.Second))
	// One after the other: a machine that is busy may make some of them late, but not all.
	soonest := time.Hour
	for left := 9; left >= 3; left-- {
		began := time.Now()
		viewers[left].Close()
		s.awaitViewers(t, "live/s", left, lengthened(5*time.Second))
		soonest = min(soonest, time.Since(began))
	}
	if soonest > time.Second {
		t.Errorf("each took %v or longer", soonest)
	}
}
