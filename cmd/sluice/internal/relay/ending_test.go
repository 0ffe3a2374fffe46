package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// When a viewer leaves, the reason is that the peer closed the connection, and
// not a broken pipe, whether it closes or resets.
func TestViewersWhoLeaveAreNoErrors(t *testing.T) {
	s := startRelay(t, nil)
	clip := flvtest.Clip(t)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, clip[:10]...)
	for _, reset := range []bool{false, true} {
		conn, _ := s.raw(t, "GET /live/s.flv?wait=20 HTTP/1.1\nHost: a\n\n")
		s.viewersOf(t, "live/s", 1)
		if reset {
			conn.(*net.TCPConn).SetLinger(0)
		}
		conn.Close()
		relayEventually(t, "the viewer's end", func() bool {
			p.send(t, clip[10:12]...)
			return s.host.Register.Number(session.RoleViewer) == 0
		})
	}
	s.log.line(t, "viewer ended", "id=v1")
	s.log.line(t, "viewer ended", "id=v2")
	log := s.log.String()
	if n := strings.Count(log, `reason="the peer closed the connection"`); n != 2 || strings.Contains(log, "broken pipe") || strings.Contains(log, "reset by peer") {
		t.Errorf("%d have closed: %s", n, log)
	}
}

// Publishers are notified that the server shuts down, with a text and with a code
// after which encoders try again.
func TestPublisherIsToldOfTheShutdown(t *testing.T) {
	s := rtmpServe(t, nil)
	p := rtmpPush(t, s, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:10]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "its frames", func() bool { return rtspFrames(s, "live/s") == 10 })
	over := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), relayWait)
		defer cancel()
		over <- s.Shutdown(ctx)
	}()
	said, err := io.ReadAll(p.conn)
	if err != nil {
		t.Errorf("its connection ends with %v", err)
	}
	for _, want := range []string{"NetStream.Publish.Failed", session.ErrClosing.Error()} {
		if !strings.Contains(string(said), want) {
			t.Errorf("no %q in %q", want, said)
		}
	}
	if strings.Contains(string(said), "live: ") {
		t.Errorf("it is told %q", said)
	}
	p.conn.Close()
	if err := <-over; err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
