package relay

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
)

// A publisher that sets up a track again means that track, and no other.
func TestRTSPTrackSetUpTwice(t *testing.T) {
	s := rtspServe(t, nil)
	x := rtspDial(t, s)
	f := rtspFormat(t)
	p, err := rtpmedia.Describe("s", []rtpmedia.Format{f, f})
	if err != nil {
		t.Fatal(err)
	}
	x.must(200, "ANNOUNCE", "live/s", string(p), rtspSDP)
	x.must(200, "SETUP", "live/s/trackID=0", "", "Transport: RTP/AVP/TCP;unicast;interleaved=4-5;mode=record")
	if h := x.must(200, "SETUP", "live/s/trackID=0", "", "Transport: RTP/AVP/TCP;unicast;interleaved=6-7;mode=record"); !strings.Contains(h.Get("Transport"), "interleaved=6-7") {
		t.Errorf("again: %s", h.Get("Transport"))
	}
	// Channels that the first track has left are free for the other one.
	if h := x.must(200, "SETUP", "live/s/trackID=1", "", "Transport: RTP/AVP/TCP;unicast;interleaved=4-5;mode=record"); !strings.Contains(h.Get("Transport"), "interleaved=4-5") {
		t.Errorf("the other track: %s", h.Get("Transport"))
	}
	x.must(404, "SETUP", "live/s/trackID=7", "", rtspTCP+";mode=record")
	x.must(200, "RECORD", "live/s", "")
}
