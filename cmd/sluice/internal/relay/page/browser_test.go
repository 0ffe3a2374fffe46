package page

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// readable is how the page shows what is invisible in hostileNames.
var readable = strings.NewReplacer("\u202e", `\u202E`, "\n", `\u000A`, "\x1b", `\u001B`)

// quoted writes text as a JavaScript string.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return string(b)
}

var looks = []struct {
	name  string
	width int64
	dark  bool
}{{"desktop-light", desktop, false}, {"desktop-dark", desktop, true}, {"phone-light", phone, false}, {"phone-dark", phone, true}}

func TestPageInABrowser(t *testing.T) {
	chromium := browser(t)
	options := Options{RTMPAddr: "[::]:1935", RTSPAddr: "[::]:8554", SRTAddr: "[::]:8890", HLS: true, WebRTC: true, Merge: 80 * time.Millisecond}
	each := func(t *testing.T, f func(t *testing.T, name string, width int64, dark bool)) {
		for _, l := range looks {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				f(t, l.name, l.width, l.dark)
			})
		}
	}

	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, name string, width int64, dark bool) {
			b := open(t, chromium, newFakeServer(t, options), "/", width, dark)
			b.until(`document.querySelector("#empty:not([hidden]) code")`)
			b.shoot("empty-" + name)
			b.fits()
			b.legible()
			b.named()
			text := value[string](b, `document.getElementById("empty").innerText`)
			for _, want := range []string{"-f flv rtmp://127.0.0.1/live/test", "testsrc2", "rtmp://127.0.0.1/live\n", "OBS", b.server.URL + "/live/test.flv"} {
				if !strings.Contains(text, want) {
					t.Errorf("the newcomer is not told %q in\n%s", want, text)
				}
			}
			if width == phone {
				return
			}
			b.server.set(func() { b.server.streams = []map[string]any{fakeStream("live/s", 0)} })
			b.until(`document.getElementById("empty").hidden && document.getElementById("name").innerText === "live/s"`)
		})
	})

	t.Run("one", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, name string, width int64, dark bool) {
			server := newFakeServer(t, options)
			server.streams, server.clients = []map[string]any{fakeStream("live/s", 0)}, fakeClients("live/s")
			b := open(t, chromium, server, "/?stream=live/s", width, dark)
			b.until(`document.getElementById("video").currentTime > 1 && document.getElementById("cover").hidden`)
			b.until(`document.querySelectorAll("#clients tbody tr").length === 3 && /Latency/.test(document.getElementById("playing").innerText)`)
			b.shoot("one-" + name)
			b.fits()
			b.legible()
			b.named()
			text := value[string](b, `document.body.innerText`)
			for _, want := range []string{
				b.server.URL + "/live/s.m3u8", "rtsp://127.0.0.1:8554/live/s", b.server.URL + "/live/s/whep", "Without the sound", "/live/s.flv",
				"v0.9.1-0.2026", "1 d 2 h", "5.00 MiB in use", "31.0 MiB", "3: 1 HTTP-FLV, 1 RTMP, 1 WebSocket", "2.13 Mbit/s", "6.40 Mbit/s", "30.0 fps",
				"H.264, 640×360", "AAC, 44.1 kHz, stereo", "60 frames, 2.0 s, 505 KiB", "42 frames", "1 viewer", "80 ms", "192.0.2.7:51234",
				"rtmp://127.0.0.1/live/s", "ffplay " + server.URL + "/live/s.flv", "<b>bold</b>", "2.1 s",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("the page does not say %q", want)
				}
			}
			if n := value[int](b, `[...document.querySelectorAll(".plot")].filter((p) => p.getAttribute("d").length > 100).length`); n != 5 {
				t.Errorf("%d lines are drawn in the charts, want 5", n)
			}
			if n := value[int](b, `[...document.querySelectorAll(".area")].filter((a) => a.querySelector(".scale").getBoundingClientRect().bottom > a.querySelector("svg").getBoundingClientRect().top + 1).length`); n != 0 {
				t.Errorf("the scale of %d charts hides a line", n)
			}
			at := value[float64](b, `document.getElementById("video").currentTime`)
			b.until(fmt.Sprintf(`document.getElementById("video").currentTime > %f + 1`, at))
			if bars := value[int](b, `(() => { // a picture of the clip is not one colour
				const c = document.createElement("canvas"), v = document.getElementById("video");
				[c.width, c.height] = [32, 18];
				const g = c.getContext("2d");
				g.drawImage(v, 0, 0, 32, 18);
				const d = g.getImageData(0, 0, 32, 18).data, seen = new Set();
				for (let i = 0; i < d.length; i += 4) seen.add((d[i] >> 5) + "," + (d[i+1] >> 5) + "," + (d[i+2] >> 5));
				return seen.size;
			})()`); bars < 5 {
				t.Errorf("the picture has %d colours", bars)
			}
		})
	})

	t.Run("many", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, name string, width int64, dark bool) {
			server := newFakeServer(t, options)
			server.streams, server.clients = fakeMany(40), fakeClients("live/camera-1")
			b := open(t, chromium, server, "/", width, dark)
			b.until(`document.querySelectorAll("#list li").length === 40 && document.querySelectorAll("#clients tbody tr").length === 3`)
			b.shoot("many-" + name)
			b.fits()
			b.legible()
			b.named()
			if got := value[string](b, `[...document.querySelectorAll("#list .words")].slice(0, 3).map((e) => e.innerText).join()`); got != "live/camera-1,live/camera-2,live/camera-3" {
				t.Errorf("the list begins with %s", got)
			}
			if played := len(server.played); played != 0 {
				t.Errorf("%d streams are played that nobody asked for", played)
			}
			b.run(chromedp.SendKeys(chromedp.CSS("#filter"), "camera-4"))
			b.until(`document.querySelectorAll("#list li").length === 2`)
		})
	})

	t.Run("hostile", func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, name string, width int64, dark bool) {
			if dark != (width == phone) {
				return // what matters here is the width
			}
			server := newFakeServer(t, options)
			for _, n := range hostileNames {
				server.streams = append(server.streams, fakeStream(n, 0))
				server.clients = append(server.clients, fakeClients(n)...)
			}
			b := open(t, chromium, server, "/", width, dark)
			b.until(fmt.Sprintf(`document.querySelectorAll("#list li").length === %d`, len(hostileNames)))
			for i, n := range hostileNames {
				b.do(fmt.Sprintf(`[...document.querySelectorAll("#list a")].find((a) => a.dataset.name === %s).click()`, quoted(n)))
				b.until(fmt.Sprintf(`document.getElementById("name").textContent === %s && document.querySelectorAll("#clients tbody tr").length === 3`, quoted(readable.Replace(n))))
				b.fits()
				if i == 0 || i == 3 {
					b.shoot(fmt.Sprintf("hostile%d-%s", i, name))
				}
			}
			if n := value[int](b, `document.querySelectorAll("main img, main script, main b").length`); n != 0 {
				t.Errorf("%d elements were made of a name", n)
			}
			if title := value[string](b, `document.title`); strings.Contains(title, "pwned") && !strings.Contains(title, "<") {
				t.Errorf("a name was run: the title is %s", title)
			}
		})
	})
}
