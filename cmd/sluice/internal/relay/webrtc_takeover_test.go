package relay

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
)

// An offer of which the media connection is never made leaves the publisher of the stream alone.
func TestOfferThatIsNeverConnectedReplacesNoPublisher(t *testing.T) {
	for _, takeover := range []string{config.TakeoverReplace, config.TakeoverRefuse} { // with the latter it comes back, by its address
		t.Run(takeover, func(t *testing.T) {
			s := rtcServe(t, func(c *relayConfig) { c.Takeover = takeover })
			p := s.publishing(t, "/live/s.flv")
			tags := flvtest.Clip(t)
			p.send(t, tags[:len(tags)/2]...)
			s.streaming(t, "live/s")
			st, _ := s.host.Hub.Stream("live/s")
			first := st.Publisher()

			dead := strings.ReplaceAll(deadOffer(t), "recvonly", "sendonly")
			for range 2 {
				status, h, text := s.rtcAsk(t, "POST", "/live/s/whip", dead)
				if status != 201 {
					t.Fatalf("%d %s", status, text)
				}
				if st.Publisher() != first {
					t.Fatal("the offer has ended the publisher")
				}
				if status, _, text := s.rtcAsk(t, "DELETE", h.Get("Location"), ""); status != 200 {
					t.Fatalf("%d %s", status, text)
				}
				relayEventually(t, "the session has ended", func() bool { return s.webrtc.Figures().Sessions == 0 })
				if st.Publisher() != first {
					t.Fatal("the end of the session has ended the publisher")
				}
			}
			if takeover == config.TakeoverRefuse {
				if status, _, text := s.rtcAsk(t, "POST", "/live/s/whip?key=other", dead); status != 409 {
					t.Errorf("another one: %d %s", status, text)
				}
			}
			p.Close()
		})
	}
}
