package relay

import (
	"context"
	"log/slog"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/sluicetest"
)

// A server may have to end before all of its listeners have begun to serve.
func TestServerThatEndsAsItBegins(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 30 {
		c := relayConfig{Config: config.Default(), times: calm}
		c.RTMP, c.HTTP, c.RTSP, c.WebRTC, c.SRT = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
		s, err := c.server(slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(over); err != nil {
			t.Fatal(err)
		}
	}
}
