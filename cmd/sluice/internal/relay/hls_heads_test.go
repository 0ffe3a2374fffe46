package relay

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hlstest"
)

// VLC 3 reads on behind a discontinuity without the initialization that the playlist names, and ends: for it the segment
// there begins with it. It does so in requests of parts of the segment too, and in no other segment; other players get none.
func TestHLSSegmentsThatBeginWithTheirInitialization(t *testing.T) {
	s := hlsServe(t, nil)
	f := s.feeding(t, "/live/s.flv")
	f.loop(t)
	f.loop(t)
	s.awaitStream(t, "live/s")
	const path = "/live/s.m3u8"
	segments := func(agent string) (list []hlstest.Segment, get func(address, part string) string) {
		header := http.Header{"User-Agent": {agent}}
		base := path
		text := ""
		f.during(t, func() {
			_, text = s.do(t, "GET", path, header)
			base = hlsJoin(t, path, addressesIn(text)[0])
		})
		// Each time that the clip is sent: of several that are taken in together the playlist has the last ones alone.
		jumped := uint32(0)
		f.on(t, "a segment behind a discontinuity", func() bool {
			_, text = s.do(t, "GET", base, header)
			p, err := hlstest.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			list = p.Segments
			for i, one := range list {
				if i > 0 && one.Discontinuity && one.URI != "" {
					return true
				}
			}
			if f.at != jumped {
				f.at += uint32(time.Hour.Milliseconds())
				jumped = f.at
			}
			return false
		})
		return list, func(address, part string) string {
			h := header.Clone()
			if part != "" {
				h.Set("Range", part)
			}
			status, body := s.do(t, "GET", hlsJoin(t, base, address), h)
			if status != http.StatusOK && status != http.StatusPartialContent {
				t.Fatalf("%s: %d %s", address, status, body)
			}
			return body
		}
	}
	for agent, with := range map[string]bool{"VLC/3.0.21 LibVLC/3.0.21": true, "VLC/4.0.0-dev LibVLC/4.0.0-dev": false, "Mozilla/5.0": false} {
		list, get := segments(agent)
		for i, one := range list {
			if i == 0 || one.URI == "" {
				continue
			}
			media, head := get(one.URI, ""), get(one.Map, "")
			if has := strings.HasPrefix(media, head); has != (with && one.Discontinuity) {
				t.Errorf("%s: segment %d, a discontinuity before it %v, begins with its initialization: %v", agent, i, one.Discontinuity, has)
			} else if part := get(one.URI, "bytes=10-99"); part != media[10:100] {
				t.Errorf("%s: segment %d: bytes 10 to 99 are %q, want %q", agent, i, part, media[10:100])
			}
		}
	}
}
