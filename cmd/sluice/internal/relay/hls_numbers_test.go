package relay

import (
	"testing"
	"time"
)

// A player keeps the address of its playlist over a restart of the server: numbers in it become greater.
func TestHLSNumbersGoOnOverARestart(t *testing.T) {
	sequence := -1
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
			// The stream is fed faster than it lasts: the numbers catch up with four a second, of which the
			// first was that of 2025.
			due := time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(sequence+1) * time.Second / 4)
			relayEventually(t, "the time of the segments", func() bool { return time.Now().After(due) })
		})
	}
}
