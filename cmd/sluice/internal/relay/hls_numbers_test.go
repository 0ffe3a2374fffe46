package relay

import (
	"testing"
	"time"
)

// A player keeps the address of its playlist over a restart of the server: numbers in it become greater.
func TestHLSNumbersGoOnOverARestart(t *testing.T) {
	began, sequence := time.Now(), -1
	for _, run := range []string{"before", "after"} {
		t.Run(run, func(t *testing.T) {
			s := hlsServe(t, nil)
			f := s.feeding(t, "/live/s.flv")
			f.loop(t)
			s.awaitStream(t, "live/s")
			var v *hlsViewer
			f.during(t, func() { v = s.watchHLS(t, "/live/s.m3u8") })
			p := v.settled(t)
			if p.Sequence <= sequence {
				t.Errorf("%d after %d", p.Sequence, sequence)
			}
			sequence = p.Sequence
			relayEventually(t, "the time of some segments", func() bool { return time.Since(began) > 2*time.Second })
		})
	}
}
