package relay

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Who asks for the multivariant playlist alone, as what looks after servers does, is no viewer in the log.
func TestHLSPlaylistThatNothingFollows(t *testing.T) {
	s := hlsServe(t, nil)
	s.hls.Times.First = 20 * time.Millisecond
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	s.awaitStream(t, "live/s")
	f.during(t, func() {
		for range 3 {
			if status, text := s.get(t, "/live/s.m3u8"); status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
		}
	})
	relayEventually(t, "no session is left", func() bool { return s.host.Register.Number(session.RoleViewer) == 0 })
	if text := s.log.String(); strings.Contains(text, `level=INFO msg="viewer`) {
		t.Errorf("the log is %s", text)
	}
	f.during(t, func() { s.watchHLS(t, "/live/s.m3u8").read(t, "") })
	s.log.line(t, "viewer started", "protocol=hls")
}
