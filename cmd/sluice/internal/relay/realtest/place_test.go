//go:build linux

package realtest

import (
	"slices"
	"strings"
	"syscall"
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
		o.env = []string{clusterEnv(t)}
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
	a.view(t, "rtmp", "s", "")
	a.awaitViewers(t, "live/s", 1, lengthened(10*time.Second)) // now it is full

	for _, address := range []string{"/live/s.flv", "/live/s.m3u8"} {
		p := ffmpegTo(t, "http://"+a.HTTP+address)
		if code := p.wait(t, lengthened(40*time.Second)); code != 0 {
			t.Errorf("%s: ffmpeg ends with %d: %s", address, code, p.stderr.tail(5))
		}
	}
	for _, transport := range []string{"flv", "hls"} {
		ctx, _, faults := browse(t)
		openPage(t, ctx, a, transport)
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

// The page plays by WHEP from a node that ends: it goes on at another, by itself.
func TestDrainSendsWHEPViewersOn(t *testing.T) {
	t.Parallel()
	begin := func(name string, others ...*server) *server {
		o := flags("--cluster --cluster-address 127.0.0.1:0 --srt off --rtsp off --node-name " + name)
		o.env = []string{clusterEnv(t)}
		for _, s := range others {
			o.flags = append(o.flags, "--join", s.Cluster)
		}
		return serve(t, o)
	}
	a := begin("a")
	b := begin("b", a)
	push(t, plainClip(t), "rtmp://"+b.RTMP+"/live/s", loop...)
	a.awaitCluster(t, 2, "live/s", "b")
	ctx, asked, faults := browse(t)
	openPage(t, ctx, a, "whep")
	frames := func() int {
		return evaluate[int](t, ctx, `document.getElementById("video").getVideoPlaybackQuality().totalVideoFrames`)
	}
	plays := func(s *server, name string) {
		t.Helper()
		eventually(t, lengthened(20*time.Second), func() string {
			for _, c := range s.clients(t) {
				if strings.HasSuffix(c.ID, "@"+name) && c.Role == "viewer" && c.Protocol == "whep" && frames() >= 30 {
					return ""
				}
			}
			return "the page does not play by WHEP: " + said(t, ctx)
		})
	}
	plays(a, "a")
	a.signal(t, syscall.SIGTERM)
	if code := a.wait(t, lengthened(30*time.Second)); code != 0 {
		t.Errorf("the node ended with %d", code)
	}
	plays(b, "b")
	if sent := "http://" + b.HTTP + "/live/s/whep?placed=1"; measured() && !slices.Contains(asked(), sent) {
		t.Errorf("the page found the other node by itself: it asked for %q", asked())
	}
	if f := faults(); len(f) > 0 {
		t.Errorf("the page fails with %q", f)
	}
}

// ffmpegTo plays three seconds.
func ffmpegTo(t *testing.T, url string) *process {
	t.Helper()
	return start(t, nil, "ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "warning", "-i", url, "-t", "3", "-c", "copy", "-f", "null", "-")
}

// The operator's page of one node shows sessions of another, and ends them.
func TestPageEndsASessionOfAnotherNode(t *testing.T) {
	long(t, "package page has a server that is not one")
	t.Parallel()
	a := standbyNode(t, "a")
	b := standbyNode(t, "b", a)
	encode(t, 'a', a.HTTP)
	b.awaitCluster(t, 2, "live/s", "a")
	v := a.observe(t, "flv")
	v.sees(t, 'a', 5)
	ctx, _, faults := browse(t)
	navigate := func() {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("http://"+b.HTTP+"/operate")); err != nil {
			t.Fatalf("opening the page: %v", err)
		}
	}
	navigate()
	evaluate[bool](t, ctx, `(() => { sessionStorage.setItem("sluice.api-token", "`+apiToken+`"); return true; })()`)
	navigate()
	const button = `[...document.querySelectorAll("#sessions tbody tr")].find((r) => /v\d+@a/.test(r.innerText))?.querySelector("button")`
	eventually(t, lengthened(20*time.Second), func() string {
		if !evaluate[bool](t, ctx, `Boolean(`+button+`)`) {
			return "the viewer is not on the page: " + said(t, ctx)
		}
		return ""
	})
	evaluate[bool](t, ctx, `(() => { `+button+`.click(); `+button+`.click(); return true; })()`) // it asks whether that is meant
	eventually(t, lengthened(20*time.Second), func() string {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.err == nil {
			return "the viewer is still there"
		}
		return ""
	})
	if f := faults(); len(f) > 0 {
		t.Errorf("the page fails with %q", f)
	}
}
