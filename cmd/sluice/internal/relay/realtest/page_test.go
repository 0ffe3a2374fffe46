//go:build linux

package realtest

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"math"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A browser opens the page and plays the stream: the time moves, there is a
// picture, and nothing is asked of any other server.
func TestPageInChromium(t *testing.T) {
	t.Parallel()
	s := serve(t, options{})
	push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...)
	s.awaitLive(t, "live/s")

	for _, transport := range []string{"flv", "ws", "hls"} {
		t.Run(transport, func(t *testing.T) {
			ctx, asked, faults := browse(t)
			openPage(t, ctx, s, transport)
			pageMoves(t, ctx)
			if width := evaluate[int](t, ctx, `document.getElementById("video").videoWidth`); width != 640 {
				t.Errorf("the picture is %d wide, the clip is 640", width)
			}
			shot, err := chromedp.Run(ctx, chromedp.Screenshot(chromedp.CSS("#video")))
			if err != nil {
				t.Fatal(err)
			}
			if colours, deviation := look(t, shot); colours < 64 || deviation < 10 {
				t.Errorf("the screenshot of the picture has %d colours and a deviation of %.1f: it looks empty", colours, deviation)
			}
			if transport == "flv" && evaluate[string](t, ctx, `document.getElementById("transport").value`) == "auto" && playsHLS(t, s) {
				t.Log("a picture by FLV took the browser so long that the page went on by HLS")
				choose(t, ctx, transport)
			}
			// The page begins with another one, and the browser before this one has just ended.
			eventually(t, lengthened(20*time.Second), func() string {
				protocols := map[string]bool{}
				for _, c := range s.clients(t) {
					if c.Role == "viewer" {
						protocols[c.Protocol] = true
					}
				}
				if len(protocols) != 1 || !protocols[transport] {
					return fmt.Sprintf("the viewers' protocols are %v, want %s", protocols, transport)
				}
				return ""
			})
			for _, u := range asked() {
				if p, err := url.Parse(u); err != nil || p.Scheme != "data" && p.Scheme != "blob" && p.Host != s.HTTP {
					t.Errorf("the page asks for %s", u)
				}
			}
			if f := faults(); len(f) > 0 {
				t.Errorf("the page fails with %q", f)
			}
		})
	}
}

// playsHLS reports whether a viewer has been served HLS.
func playsHLS(t *testing.T, s *server) bool {
	t.Helper()
	for _, c := range s.clients(t) {
		if c.Role == "viewer" && c.Protocol == "hls" {
			return true
		}
	}
	return false
}

// pageMoves waits until the page's player has a picture, and its time moves.
func pageMoves(t *testing.T, ctx context.Context) {
	t.Helper()
	const position = `document.getElementById("video").currentTime`
	eventually(t, lengthened(20*time.Second), func() string {
		if evaluate[int](t, ctx, `document.getElementById("video").videoWidth`) == 0 || evaluate[float64](t, ctx, position) == 0 {
			return "no picture: " + said(t, ctx)
		}
		return ""
	})
	first := evaluate[float64](t, ctx, position)
	eventually(t, lengthened(20*time.Second), func() string {
		if evaluate[float64](t, ctx, position) < first+1 {
			return "the time does not move: " + said(t, ctx)
		}
		return ""
	})
}

// openPage opens the page of live/s, which is played over a transport.
func openPage(t *testing.T, ctx context.Context, s *server, transport string) {
	t.Helper()
	openPageOf(t, ctx, s, "live/s", transport)
}

// openPageOf is openPage for a stream.
func openPageOf(t *testing.T, ctx context.Context, s *server, stream, transport string) {
	t.Helper()
	if err := chromedp.Do(ctx,
		chromedp.EmulateViewport(1280, 900),
		chromedp.Navigate("http://"+s.HTTP+"/?stream="+stream),
		chromedp.WaitVisible(chromedp.CSS("#video")),
	); err != nil {
		t.Fatalf("opening the page: %v", err)
	}
	if transport != "flv" {
		choose(t, ctx, transport)
	}
}

// choose makes the page play over a transport, and stay with it.
func choose(t *testing.T, ctx context.Context, transport string) {
	t.Helper()
	evaluate[bool](t, ctx, `(() => {
		const e = document.getElementById("transport");
		e.value = "`+transport+`";
		return e.dispatchEvent(new Event("change", {bubbles: true}));
	})()`)
}

// browse starts a browser. asked are the addresses that it has asked for since,
// faults what the pages' scripts did not catch.
func browse(t *testing.T, more ...chromedp.ExecAllocatorOption) (ctx context.Context, asked, faults func() []string) {
	t.Helper()
	o := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(tool(t, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")),
		chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(lengthened(30*time.Second)),
		chromedp.Env("TMPDIR="+scratch(t)),
	)
	ctx, cancel := context.WithTimeout(context.Background(), lengthened(time.Minute))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(o, more...)...)
	t.Cleanup(cancel)
	var mu sync.Mutex
	var urls, thrown []string
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch event := event.(type) {
		case *network.EventRequestWillBeSent:
			urls = append(urls, event.Request.URL)
		case *network.EventWebSocketCreated:
			urls = append(urls, event.URL)
		case *runtime.EventExceptionThrown:
			details := event.ExceptionDetails
			text := details.Text
			if details.Exception != nil {
				text += ": " + details.Exception.Description
			}
			thrown = append(thrown, text)
		}
	}))
	t.Cleanup(cancel)
	list := func(of *[]string) func() []string {
		return func() []string {
			mu.Lock()
			defer mu.Unlock()
			return append([]string(nil), *of...)
		}
	}
	return ctx, list(&urls), list(&thrown)
}

// evaluate is the value of an expression in the page.
func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// said is what the page tells the person in front of it.
func said(t *testing.T, ctx context.Context) string {
	t.Helper()
	return evaluate[string](t, ctx, `document.body.innerText.slice(0, 500)`)
}

// look counts the colours of a picture, of 32 shades each, and how much its
// brightness varies.
func look(t *testing.T, shot []byte) (colours int, deviation float64) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint32]bool{}
	var n, sum, squares float64
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 2 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 2 {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r >> 11, g >> 11, b >> 11}] = true
			light := float64(r+g+b) / 3 / 257
			n, sum, squares = n+1, sum+light, squares+light*light
		}
	}
	return len(seen), math.Sqrt(max(0, squares/n-(sum/n)*(sum/n)))
}

// scratch is where a browser that is killed leaves its socket, for which t.TempDir's path may be too long.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
