//go:build linux

package realtest

import (
	"path/filepath"
	"testing"
	"time"
)

// Where the sound of a stream stops, browsers show no picture of FLV any more: the page goes on by HLS,
// by itself, and so it does for those who come later.
func TestPageGoesOnByHLSWhenSoundStops(t *testing.T) {
	long(t, "package hls tests the silence in its place")
	t.Parallel()
	file := filepath.Join(t.TempDir(), "silent.flv")
	p := ffmpeg(t, "-stream_loop", "9", "-i", plainClip(t), "-t", "6", "-i", clipFile(t), "-map", "0:v", "-map", "1:a", "-c", "copy", file)
	if code := p.wait(t, lengthened(time.Minute)); code != 0 {
		t.Fatal(p.stderr.tail(10))
	}
	s := serve(t, options{})
	push(t, file, "rtmp://"+s.RTMP+"/live/s", "-re")
	s.awaitLive(t, "live/s")
	ctx, _, faults := browse(t)
	for _, who := range []string{"who was there", "who comes later"} {
		openPage(t, ctx, s, "flv")
		eventually(t, lengthened(30*time.Second), func() string {
			for _, c := range s.clients(t) {
				if c.Protocol == "hls" {
					return ""
				}
			}
			return who + " does not watch by HLS: " + said(t, ctx)
		})
		pageMoves(t, ctx)
	}
	if f := faults(); len(f) > 0 {
		t.Errorf("the page fails with %q", f)
	}
}
