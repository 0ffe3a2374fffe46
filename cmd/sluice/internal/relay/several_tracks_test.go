package relay

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
)

// Viewers by protocols that carry one track of a kind get the first; the log says which
// others there are.
func TestTracksThatAreNotCarriedAreSaid(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.RTSP = "127.0.0.1:0" })
	f := s.feeding(t, "/live/s.flv")
	second := flvtest.Tag{Type: flv.TagAudio, Payload: "\x95\x00mp4a\x01\x11\x90"}
	f.send(t, second)
	f.loop(t)
	f.loop(t)
	if status, text := s.get(t, "/live/s.m3u8"); status != 200 {
		t.Fatalf("HLS: %d %s", status, text)
	}
	s.log.line(t, "HLS carries the first track", "live/s", "audio 1")
	rtspDial(t, s.Server).must(200, "DESCRIBE", "live/s", "")
	s.log.line(t, "RTSP carries the first track", "live/s", "audio 1")
}
