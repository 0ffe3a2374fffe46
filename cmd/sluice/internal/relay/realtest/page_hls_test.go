//go:build linux

package realtest

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// A page that plays by HLS goes on when the publisher of the stream's name is another, whose pictures
// HLS has no form for and whose sound is of another codec, and when the first is back.
func TestPageByHLSGoesOnWithOtherCodecs(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--hls-segment 1s"))
	publisher := push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...)
	s.awaitLive(t, "live/s")
	ctx, _, faults := browse(t)
	openPage(t, ctx, s, "hls")
	pageMoves(t, ctx)
	for _, c := range []struct {
		width   int
		publish func() *process
	}{
		{0, func() *process {
			return ffmpeg(t, "-loglevel", "warning", "-re", "-f", "lavfi", "-i", "testsrc=size=160x90:rate=10", "-re", "-f", "lavfi", "-i", "sine=sample_rate=48000",
				"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "10", "-c:a", "libopus", "-strict", "experimental", "-f", "rtsp", "-rtsp_transport", "tcp", "rtsp://"+s.RTSP+"/live/s")
		}},
		{640, func() *process { return push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...) }},
	} {
		publisher.kill()
		eventually(t, lengthened(10*time.Second), func() string {
			if info := s.stream(t, "live/s"); info == nil || info.State != "grace" {
				return fmt.Sprintf("the publisher has ended, the stream is %+v", info)
			}
			return ""
		})
		publisher = c.publish()
		s.awaitLive(t, "live/s")
		last := -1.0
		eventually(t, lengthened(30*time.Second), func() string {
			if publisher.ended() {
				t.Fatalf("the publisher ended: %s", publisher.stderr.tail(10))
			}
			width := evaluate[int](t, ctx, `document.getElementById("video").videoWidth`)
			position := evaluate[float64](t, ctx, `document.getElementById("video").currentTime`)
			if width != c.width || evaluate[bool](t, ctx, `document.getElementById("video").paused`) {
				last = -1
				return fmt.Sprintf("the picture is %d wide, want %d: %s", width, c.width, said(t, ctx))
			}
			if last < 0 {
				last = position
			}
			if position < last+1 {
				return "the time does not move: " + said(t, ctx)
			}
			return ""
		})
	}
	if f := faults(); len(f) > 0 {
		t.Errorf("the page fails with %q", f)
	}
}

// A page that plays by HLS says that the stream has ended, inside a segment of which it has played
// parts, and plays on when it is there again.
func TestPageByHLSSeesTheEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--grace 0"))
	ctx, _, faults := browse(t)
	publisher := push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...)
	s.awaitLive(t, "live/s")
	openPage(t, ctx, s, "hls")
	pageMoves(t, ctx)
	eventually(t, lengthened(20*time.Second), func() string {
		const end = `(() => { const b = document.getElementById("video").buffered; return b.length && b.end(b.length - 1); })()`
		if at := evaluate[float64](t, ctx, end); math.Mod(at, 2) < 0.7 || math.Mod(at, 2) > 1.3 {
			return fmt.Sprintf("the page has %.3f s, segments are of 2 s", at)
		}
		return ""
	})
	publisher.kill()
	eventually(t, lengthened(10*time.Second), func() string {
		if text := said(t, ctx); !strings.Contains(text, "The stream has ended.") && !strings.Contains(text, "onnecting") {
			return "it says " + text
		}
		return ""
	})
	push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...)
	s.awaitLive(t, "live/s")
	pageMoves(t, ctx)
	if f := faults(); len(f) > 0 {
		t.Errorf("the page fails with %q", f)
	}
}
