package rtspserver

import (
	"testing"

	"github.com/sluice-go/sluice/rtsp"
)

// A track that names no channels, or another's, gets two that are free: with another's it would take that one's packets.
func TestTracksHaveChannelsOfTheirOwn(t *testing.T) {
	r := &recording{channels: map[uint8]int{2: 0, 3: 1, 7: 4, 255: 6}} // tracks 0, 2 and 3
	for _, c := range []struct {
		asked *rtsp.Pair
		track int
		want  rtsp.Pair
	}{
		{nil, 1, rtsp.Pair{First: 4, Last: 5}},
		{&rtsp.Pair{First: 3, Last: 4}, 1, rtsp.Pair{First: 4, Last: 5}},
		{&rtsp.Pair{First: 9, Last: 9}, 1, rtsp.Pair{First: 4, Last: 5}},
		{&rtsp.Pair{First: 2, Last: 3}, 0, rtsp.Pair{First: 2, Last: 3}},
		{&rtsp.Pair{First: 9, Last: 10}, 1, rtsp.Pair{First: 9, Last: 10}},
		{nil, 0, rtsp.Pair{First: 0, Last: 1}},
		{nil, 127, rtsp.Pair{First: 0, Last: 1}},
	} {
		if got := r.pair(c.asked, c.track); *got != c.want {
			t.Errorf("track %d, asked for %v: %v, want %v", c.track, c.asked, *got, c.want)
		}
	}
}
