package relay

import (
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

// While memory is short, a viewer of a recording that takes nothing is ended.
func TestARewinderThatTakesNothingGivesWay(t *testing.T) {
	s, _ := startRecording(t, nil)
	s.recorded(t, "live/s", "")
	small := func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
	}
	conn, err := (&net.Dialer{Control: small}).Dial("tcp", s.http)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /live/s.flv?from=%s HTTP/1.1\r\nHost: a\r\n\r\n", time.Now().Add(-20*time.Hour).UTC().Format(time.RFC3339Nano))
	viewers := func() int { return s.host.Gate.Usage().Viewers }
	relayEventually(t, "it is a viewer", func() bool { return viewers() == 1 })
	now, began := time.Now(), time.Now()
	relayEventually(t, "it has ended", func() bool {
		now = now.Add(time.Second)
		s.web.Relieve(now)
		return viewers() == 0
	})
	if took := time.Since(began); took > s.host.Times.Answer/2 {
		t.Errorf("it ended after %v", took)
	}
}
