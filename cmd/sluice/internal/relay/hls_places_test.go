package relay

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A request for a playlist makes a viewer of HLS, so that four addresses had all places of a server with as many
// requests. One that takes no media gives its place to the next; one that takes some keeps it.
func TestHLSViewersThatTakeNothingGiveTheirPlaces(t *testing.T) {
	for _, most := range []string{"max-viewers", "max-viewers-per-stream"} {
		t.Run(most, func(t *testing.T) {
			s := hlsServe(t, func(c *relayConfig) {
				if most == "max-viewers" {
					c.MaxViewers = 2
				} else {
					c.MaxViewersPerStream = 2
				}
			})
			s.hls.Times.Fresh = 0
			f := s.feeding(t, "/live/s.flv")
			f.loop(t)
			s.awaitStream(t, "live/s")
			var keeps, idle *hlsViewer
			f.during(t, func() {
				keeps, idle = s.watchHLS(t, "/live/s.m3u8"), s.watchHLS(t, "/live/s.m3u8")
			})
			keeps.fetch(t, keeps.settled(t).Segments[0].URI) // which no frames come behind
			idle.read(t, "")
			next := s.watchHLS(t, "/live/s.m3u8")
			next.fetch(t, next.settled(t).Segments[0].URI)
			relayEventually(t, "the media of both to count", func() bool {
				status, _ := s.get(t, "/live/s.m3u8")
				return status == 503
			})
			keeps.read(t, "")
			next.read(t, "")
			if status, text := s.get(t, idle.media); status != 503 || !strings.Contains(text, "no room for more viewers") {
				t.Errorf("the viewer without media gets %d %s", status, text)
			}
			if ends := s.host.Register.Totals().Ended[session.Outcome{Role: session.RoleViewer, Code: "idle"}]; ends == 0 {
				t.Error("no viewer ended for being idle")
			}
		})
	}
}
