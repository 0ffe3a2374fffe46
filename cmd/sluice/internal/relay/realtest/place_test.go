//go:build linux

package realtest

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// A node that is full sends ffmpeg and the page's player to another, over HTTP-FLV and
// HLS, and both play.
func TestViewersAreSentToANodeWithRoom(t *testing.T) {
	t.Parallel()
	begin := func(name, more string, others ...*server) *server {
		o := flags("--cluster --cluster-address 127.0.0.1:0 --webrtc off --srt off --node-name " + name + more)
		o.env = []string{"SLUICE_CLUSTER_SECRET=a secret of the tests, long enough"}
		for _, s := range others {
			o.flags = append(o.flags, "--join", s.Cluster)
		}
		return serve(t, o)
	}
	a := begin("a", " --place-viewers 1")
	b := begin("b", "", a)
	push(t, clipFile(t), "rtmp://"+a.RTMP+"/live/s", loop...)
	a.awaitCluster(t, 2, "live/s", "a")
	b.awaitCluster(t, 2, "live/s", "a")
	a.view(t, "rtmp", "s", "") // now it is full

	for _, address := range []string{"/live/s.flv", "/live/s.m3u8"} {
		p := ffmpegTo(t, "http://"+a.HTTP+address)
		if code := p.wait(t, lengthened(40*time.Second)); code != 0 {
			t.Errorf("%s: ffmpeg ends with %d: %s", address, code, p.stderr.tail(5))
		}
	}
	for _, transport := range []string{"flv", "hls"} {
		ctx, _, faults := browse(t)
		if err := chromedp.Do(ctx,
			chromedp.EmulateViewport(1280, 900),
			chromedp.Navigate("http://"+a.HTTP+"/?stream=live/s"),
			chromedp.WaitVisible(chromedp.CSS("#video")),
		); err != nil {
			t.Fatalf("opening the page: %v", err)
		}
		if transport != "flv" {
			evaluate[bool](t, ctx, `(() => {
				const e = document.getElementById("transport");
				e.value = "`+transport+`";
				return e.dispatchEvent(new Event("change", {bubbles: true}));
			})()`)
		}
		eventually(t, lengthened(40*time.Second), func() string {
			if evaluate[int](t, ctx, `document.getElementById("video").videoWidth`) == 0 || evaluate[float64](t, ctx, `document.getElementById("video").currentTime`) == 0 {
				return transport + ": no picture: " + said(t, ctx)
			}
			return ""
		})
		eventually(t, lengthened(20*time.Second), func() string {
			for _, c := range b.clients(t) {
				if c.Role == "viewer" && c.Protocol == transport {
					return ""
				}
			}
			return "no viewer of the page is on b by " + transport
		})
		if f := faults(); len(f) > 0 {
			t.Errorf("the page fails with %q", f)
		}
	}
}

// ffmpegTo plays three seconds.
func ffmpegTo(t *testing.T, url string) *process {
	t.Helper()
	return start(t, nil, "ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "warning", "-i", url, "-t", "3", "-c", "copy", "-f", "null", "-")
}
