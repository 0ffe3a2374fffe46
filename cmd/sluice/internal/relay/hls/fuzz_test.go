package hls

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// FuzzAddress: a path that is accepted is the only one of its file, and positions are
// never negative but for none.
func FuzzAddress(f *testing.F) {
	for _, path := range []string{"/live/s.m3u8", "/live/s/.hls/0/index.m3u8", "/live/a/b/.hls/12/0123456789ab-s7.mp4", "/.hls//", "/x/.hls/0/.hls/1/y"} {
		f.Add(path, "_HLS_msn=3&_HLS_part=1")
	}
	line := newTimeline(limits{})
	f.Fuzz(func(t *testing.T, path, query string) {
		if a, ok := parseAddress(path); ok {
			back := a.stream + suffix
			if a.file != "" {
				back = a.stream + folder + strconv.Itoa(a.row) + "/" + a.file
			}
			if back != path || strings.Contains(a.file, "/") || a.row < 0 || a.row > maxRow {
				t.Errorf("%q is %+v, which is %q", path, a, back)
			}
			if kind, number, ok := line.parseName(strings.Replace(a.file, "0123456789ab", line.name, 1)); ok && (number < 0 || strings.IndexByte("isp", kind) < 0) {
				t.Errorf("%q: %c %d", a.file, kind, number)
			}
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		if p, err := parsePosition(values); err == nil && (p.segment < -1 || p.part < -1 || p.part >= 0 && p.segment < 0) {
			t.Errorf("%q: %+v", query, p)
		}
		line.target = 2
		line.reached(position{1 << 61, 1 << 61})
	})
}
