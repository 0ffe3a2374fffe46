package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func click(b *tab, selector string) {
	b.t.Helper()
	b.run(chromedp.Click(chromedp.CSS(selector)))
}

func typeInto(b *tab, selector, text string) {
	b.t.Helper()
	b.run(chromedp.SendKeys(chromedp.CSS(selector), text))
}

const playing = `document.getElementById("cover").hidden && document.getElementById("video").currentTime > 0.5`

// What people do with the page.
func TestPageInUse(t *testing.T) {
	chromium := browser(t)
	options := Options{RTMPAddr: ":41935", RTMPSAddr: ":443", Merge: 80 * time.Millisecond, ProtectPlay: true}
	serve := func(t *testing.T, streams ...string) *fakeServer {
		server := newFakeServer(t, options)
		for _, name := range streams {
			server.streams = append(server.streams, fakeStream(name, 0))
			server.clients = append(server.clients, fakeClients(name)...)
		}
		return server
	}

	t.Run("watch and stop", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		b := open(t, chromium, server, "/", desktop, false)
		click(b, "#watch")
		b.until(playing)
		if !value[bool](b, `document.getElementById("video").muted`) {
			t.Error("it plays with sound, which nobody asked for")
		}
		click(b, "#sound")
		b.until(`!document.getElementById("video").muted && document.getElementById("sound").textContent === "Sound off"`)
		click(b, "#stop")
		b.until(`!document.getElementById("watch").hidden && document.getElementById("stop").disabled && !document.getElementById("video").src`)
	})

	t.Run("the newest part is shown, not the oldest", func(t *testing.T) {
		t.Parallel()
		b := open(t, chromium, serve(t, "live/s"), "/?stream=live/s", desktop, false)
		b.until(playing + ` && (() => { const v = document.getElementById("video"); return v.buffered.end(v.buffered.length - 1) - v.currentTime < 1.3; })()`)
	})

	t.Run("the end by HLS", func(t *testing.T) {
		t.Parallel()
		theEndByHLS(t, chromium)
		silenceByHLS(t, chromium)
	})

	t.Run("nothing comes by HLS", func(t *testing.T) {
		t.Parallel()
		nothingByHLS(t, chromium)
	})

	// VLC 3 knows no enhanced RTMP.
	t.Run("what VLC can open", func(t *testing.T) {
		t.Parallel()
		for codecs, want := range map[[2]string]string{{"avc1", "mp4a"}: "/live/s.flv", {"hvc1", "mp4a"}: "/live/s.m3u8", {"vp09", "Opus"}: "rtsp://127.0.0.1:8554/live/s", {"vp09", "fLaC"}: "/live/s.flv"} {
			server := newFakeServer(t, Options{RTSPAddr: ":8554", HLS: true})
			server.streams = []map[string]any{fakeStream("live/s", 0)}
			for i, kind := range []string{"video", "audio"} {
				server.streams[0][kind].(map[string]any)["codec"] = codecs[i]
			}
			b := open(t, chromium, server, "/", desktop, false)
			b.until(`document.querySelector("#play-lines .line")`)
			line := value[string](b, `[...document.querySelectorAll("#play-lines .line")].find((l) => /^VLC/.test(l.innerText)).querySelector(".text").textContent`)
			if !strings.HasSuffix(line, want) {
				t.Errorf("%v: VLC is to open %s, want %s", codecs, line, want)
			}
		}
	})

	t.Run("a connection by WebRTC that goes silent", func(t *testing.T) {
		t.Parallel()
		silenceByWHEP(t, chromium)
	})

	t.Run("a picture by WebRTC that stands still", func(t *testing.T) {
		t.Parallel()
		stillByWHEP(t, chromium)
	})

	t.Run("a codec that WebRTC lacks here", func(t *testing.T) {
		t.Parallel()
		untakenByWHEP(t, chromium)
	})

	t.Run("why a WebSocket was refused", func(t *testing.T) {
		t.Parallel()
		refusedWebSocket(t, chromium)
	})

	t.Run("a WebSocket that is left before it is made", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		leftWebSocket(t, chromium, server)
	})

	t.Run("a stream without sound", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		server.silent = true
		server.streams[0]["audio"] = nil
		b := open(t, chromium, server, "/?stream=live/s", desktop, false)
		b.until(playing)
		before := 0
		server.set(func() { // it gets sound: the player has to begin again
			server.silent = false
			server.streams[0]["audio"] = map[string]any{"codec": "mp4a", "rate": 44100, "channels": 1}
			before = len(server.played)
		})
		server.until(t, func() bool { return len(server.played) > before })
		b.until(playing + ` && document.getElementById("video").webkitAudioDecodedByteCount > 0`)
	})

	// Until the API has answered, the player believes what the head of the FLV
	// promises, and waits for sound that does not come.
	t.Run("a stream without sound, known late", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		server.silent, server.late = true, true
		server.streams[0]["audio"] = nil
		b := open(t, chromium, server, "/?stream=live/s", desktop, false)
		b.until(playing)
		server.set(func() {
			if len(server.played) < 2 {
				t.Errorf("played were %q: it was known from the start", server.played)
			}
		})
	})

	t.Run("by WebSocket, with a merge window", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		b := open(t, chromium, server, "/", desktop, false)
		b.until(`document.getElementById("merge").options.length > 0`)
		b.do(`(() => {
			for (const [id, value] of [["transport", "ws"], ["merge", "200"]]) {
				document.getElementById(id).value = value;
				document.getElementById(id).dispatchEvent(new Event("change"));
			}
		})()`)
		click(b, "#watch")
		b.until(playing)
		server.set(func() {
			if !slices.Contains(server.played, "/live/s.flv?merge=200") {
				t.Errorf("played were %q", server.played)
			}
		})
		if !slices.ContainsFunc(b.seen(), func(r string) bool { return strings.HasPrefix(r, "ws://") }) {
			t.Errorf("no WebSocket among %q", b.seen())
		}
	})

	t.Run("from a time before now, where it was recorded", func(t *testing.T) {
		server := serve(t, "live/s", "live/t")
		server.streams[0]["recorded_since"] = time.Now().Add(-5 * time.Minute).Format(time.RFC3339)
		b := open(t, chromium, server, "/?stream=live/s", desktop, false)
		b.until(playing)
		b.until(`!document.getElementById("past-label").hidden`)
		if got := value[string](b, `[...document.getElementById("past").options].filter((o) => !o.hidden).map((o) => o.value).join()`); got != ",-30s,-2m,begin" {
			t.Errorf("%q are offered", got)
		}
		b.named()
		b.legible()
		b.fits()
		// By keyboard alone.
		b.do(`document.getElementById("past").focus()`)
		b.run(chromedp.KeyEvent("2"))
		server.until(t, func() bool { return slices.Contains(server.played, "/live/s.flv?from=-2m") })
		b.until(playing)
		b.do(`[...document.querySelectorAll("#list a")].find((a) => a.dataset.name === "live/t").click()`)
		server.until(t, func() bool { return slices.Contains(server.played, "/live/t.flv") })
		b.until(`document.getElementById("past-label").hidden`)
	})

	t.Run("a stream that comes later", func(t *testing.T) {
		t.Parallel()
		server := serve(t)
		b := open(t, chromium, server, "/?stream=live/later", phone, true, "404 (Not Found)")
		b.until(`/Nobody is publishing/.test(document.getElementById("player-message").textContent) && document.getElementById("state").textContent === "Not live"`)
		b.shoot("waiting-phone-dark")
		b.legible()
		b.fits()
		server.set(func() { server.streams = []map[string]any{fakeStream("live/later", 0)} })
		b.until(playing)
	})

	t.Run("a stream that breaks off goes on", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		b := open(t, chromium, server, "/?stream=live/s", desktop, false, "Failed to load resource", "ERR_")
		b.until(playing)
		before := 0
		server.set(func() { before = len(server.played) })
		server.CloseClientConnections()
		server.until(t, func() bool { return len(server.played) > before })
		b.until(playing)
	})

	t.Run("a picture that stalls", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		server.findings = []map[string]any{
			{"code": "viewer_line", "session": "v1", "says": "another viewer's"},
			{"code": "encoder_slow", "session": "p1", "says": "0.50 s of media come in a second"},
		}
		b := open(t, chromium, server, "/?stream=live/s", phone, true)
		b.until(`document.getElementById("video")`)
		// On a busy machine pictures stall now and then. What this did not see from the beginning
		// shows nothing.
		missed := value[float64](b, `(() => {
			const v = document.getElementById("video");
			const missed = v.currentTime;
			let [at, since] = [missed, performance.now()];
			window.stood = 0;
			setInterval(() => {
				if (v.currentTime !== at || at === 0) [at, since] = [v.currentTime, performance.now()];
				window.stood = Math.max(window.stood, performance.now() - since);
			}, 50);
			return missed;
		})()`)
		b.until(playing)
		before := 0
		server.set(func() { before = len(server.examined) })
		at := value[float64](b, `document.getElementById("video").currentTime`)
		b.until(fmt.Sprintf(`document.getElementById("video").currentTime > %f + 3`, at))
		stood := value[float64](b, `window.stood`)
		server.set(func() {
			if len(server.examined) > before && stood < 400 && missed < 0.3 {
				t.Errorf("%q were examined while all was well", server.examined[before:])
			}
			before = len(server.examined)
			server.stalled = true
		})
		stalls := time.Now()
		b.until(`!document.getElementById("why").hidden && document.getElementById("why").textContent === "The picture stalls: the publisher’s encoder is slower than real time."`)
		b.shoot("stalls-phone-dark")
		b.fits()
		b.legible()
		server.set(func() {
			most := before + 1 + int(time.Since(stalls)/(15*time.Second)) // it asks again after so long
			if n := len(server.examined); n > most || slices.ContainsFunc(server.examined, func(name string) bool { return name != "live/s" }) {
				t.Errorf("%q were examined, %d before it stalled", server.examined, before)
			}
			server.stalled = false
		})
		b.until(playing + ` && document.getElementById("why").hidden`)
		server.set(func() { server.findings = nil })
		click(b, "#stop") // what was asked is forgotten
		click(b, "#watch")
		b.until(playing)
		server.set(func() { server.stalled = true })
		b.until(`/line to this device/.test(document.getElementById("why").textContent)`)
		click(b, "#stop")
		b.until(`document.getElementById("why").hidden`)
	})

	t.Run("a play token", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		server.play = "secret&1"
		b := open(t, chromium, server, "/?stream=live/s", phone, false, "403 (Forbidden)")
		b.until(`!document.getElementById("play-token").hidden`)
		b.shoot("play-token-phone-light")
		b.legible()
		b.fits()
		if text := value[string](b, `document.getElementById("play-lines").innerText`); !strings.Contains(text, `"`+server.URL+`/live/s.flv?token=TOKEN"`) || !strings.Contains(text, "sluice token --play live/s") {
			t.Errorf("the lines leave no place for a token:\n%s", text)
		}
		typeInto(b, "#play-token-value", "secret&1\r")
		b.until(playing)
		b.until(fmt.Sprintf(`document.getElementById("play-lines").innerText.includes(%s)`, quoted("/live/s.flv?token=secret%261")))
		b = open(t, chromium, server, "/?stream=live/s&token=secret%261", desktop, false)
		b.until(playing)
	})

	t.Run("kick", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		b := open(t, chromium, server, "/", desktop, false)
		b.until(`document.querySelectorAll("#clients tbody tr").length === 3`)
		if got := value[string](b, `(() => { const r = document.querySelector("[data-client='v12']").getBoundingClientRect(), c = document.getElementById("clients").getBoundingClientRect(); return r.right <= c.right + 1 ? "" : r.right + " of " + c.right; })()`); got != "" {
			t.Errorf("the button is out of sight: its right side is at %s", got)
		}
		click(b, "[data-client='v12']")
		b.until(`document.querySelectorAll("#clients tbody tr").length === 2 && document.getElementById("clients-status").textContent === "v12 was closed."`)
		// In one go: the question is withdrawn after four seconds.
		asks := value[string](b, `(() => { const kick = document.querySelector("[data-client='p1']"); kick.click(); const asks = kick.textContent; kick.click(); return asks; })()`)
		if asks != "Really kick?" {
			t.Errorf("the button of a publisher asks %q", asks)
		}
		b.until(`document.querySelectorAll("#clients tbody tr").length === 1`)
		server.set(func() {
			if !slices.Equal(server.kicked, []string{"v12", "p1"}) {
				t.Errorf("kicked were %q", server.kicked)
			}
		})
	})

	t.Run("kick with a token", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		server.token = "right"
		b := open(t, chromium, server, "/", phone, true, "401 (Unauthorized)")
		b.until(`document.querySelectorAll("#clients tbody tr").length === 3`)
		click(b, "[data-client='v12']")
		b.until(`document.getElementById("api-token").open`)
		b.shoot("api-token-phone-dark")
		b.legible()
		click(b, "#api-token-cancel")
		b.until(`/not closed/.test(document.getElementById("clients-status").textContent)`)
		click(b, "[data-client='v12']")
		b.until(`!/does not take/.test(document.getElementById("api-token-why").textContent)`)
		typeInto(b, "#api-token-value", "wrong\r")
		b.until(`document.getElementById("api-token").open && /does not take the token/.test(document.getElementById("api-token-why").textContent)`)
		typeInto(b, "#api-token-value", "right\r")
		b.until(`document.getElementById("clients-status").textContent === "v12 was closed." && !document.getElementById("api-token").open`)
	})

	t.Run("an API that asks for its token", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		server.token, server.closed = "right", true
		b := open(t, chromium, server, "/?stream=live/s", desktop, true, "401 (Unauthorized)")
		b.until(playing) // without numbers
		click(b, "#notice button")
		typeInto(b, "#api-token-value", "wrong\r")
		b.until(`/does not take the token/.test(document.getElementById("notice").textContent)`)
		click(b, "#notice button")
		typeInto(b, "#api-token-value", "right\r")
		b.until(`document.getElementById("notice").hidden && document.getElementById("numbers").innerText.includes("30.0 fps")`)
	})

	t.Run("a stream that is not listed without the API token", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		server.token, server.closed = "right", true
		b := open(t, chromium, server, "/", phone, true, "401 (Unauthorized)")
		b.until(`/not listed/.test(document.querySelector("#empty:not([hidden]) h2")?.textContent)`)
		b.do(`(() => { const e = document.getElementById("new-name"); e.value = "live/s"; e.dispatchEvent(new Event("input")); })()`)
		b.until(`document.querySelector("#empty-play a").href.endsWith("?stream=live/s")`)
		b.legible()
		click(b, "#notice button")
		typeInto(b, "#api-token-value", "right\r")
		b.until(`document.getElementById("empty").hidden && document.getElementById("numbers").innerText.includes("30.0 fps")`)
	})

	t.Run("theme", func(t *testing.T) {
		t.Parallel()
		b := open(t, chromium, serve(t), "/", desktop, true)
		ground := `getComputedStyle(document.body).backgroundColor`
		dark := value[string](b, ground)
		click(b, "#theme")
		b.until(ground + ` === "rgb(244, 246, 248)"`)
		b.until(`document.querySelector("#empty:not([hidden]) code")`)
		b.legible()
		click(b, "#theme")
		b.until(ground + ` === ` + quoted(dark))
		b.run(chromedp.Reload())
		b.until(`document.documentElement.dataset.theme === "dark"`)
		click(b, "#theme")
		b.until(`!("theme" in document.documentElement.dataset)`)
	})

	t.Run("lines", func(t *testing.T) {
		t.Parallel()
		all := options
		all.RTSPAddr, all.SRTAddr, all.SRTEncrypted, all.WebRTC = ":8554", ":8890", true, true
		server := newFakeServer(t, all)
		b := open(t, chromium, server, "/", desktop, false)
		b.until(`document.querySelector("#empty:not([hidden]) code")`)
		b.do(`(() => { const e = document.getElementById("new-name"); e.value = "nameless"; e.dispatchEvent(new Event("input")); })()`)
		b.until(`!document.getElementById("new-name-fault").hidden`)
		for name, want := range map[string][]string{
			"cam/1": {
				"rtmp://127.0.0.1:41935/cam/1\n", "rtmp://127.0.0.1:41935/cam\n", "rtmps://127.0.0.1/cam/1?token=TOKEN", `"` + server.URL + `/cam/1.flv?token=TOKEN"`,
				server.URL + "/cam/1/whip\n", "-f rtsp rtsp://127.0.0.1:8554/cam/1\n",
				`-f mpegts "srt://127.0.0.1:8890?streamid=publish:cam/1&passphrase=PASSPHRASE"` + "\n", "\nsrt://127.0.0.1:8890?streamid=read:cam/1%3Ftoken%3DTOKEN&passphrase=PASSPHRASE\n",
			},
			"a/b c":       {`"rtmp://127.0.0.1:41935/a/b c"`, server.URL + "/a/b%20c.flv", "?stream=a/b%20c"},
			"a/$(reboot)": {`'rtmp://127.0.0.1:41935/a/$(reboot)'`, server.URL + "/a/%24%28reboot%29.flv"},
			"a/it's `x`":  {`'rtmp://127.0.0.1:41935/a/it'\''s ` + "`x`'", server.URL + "/a/it%27s%20%60x%60.flv"},
			"a/\u202egnp": {"rtmp://127.0.0.1:41935/a/%E2%80%AEgnp"},
		} {
			b.do(fmt.Sprintf(`(() => { const e = document.getElementById("new-name"); e.value = %s; e.dispatchEvent(new Event("input")); })()`, quoted(name)))
			text := value[string](b, `[...document.querySelectorAll("#empty .text")].map((e) => e.textContent + "\n").join("")`)
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("for %q there is no %s in\n%s", name, w, text)
				}
			}
		}
		// What a button says for two seconds is written down in the page.
		b.do(`window.said = "";
			new MutationObserver((all) => all.forEach((m) => window.said += m.target.textContent)).observe(document.getElementById("empty"), { subtree: true, childList: true, characterData: true });
			document.querySelector("#empty .copy").click()`)
		b.until(`/Copied|Press Ctrl/.test(window.said)`)

		// Without a certificate there is no clipboard, but the old command.
		b.do(`Object.defineProperty(navigator, "clipboard", { value: undefined });
			document.addEventListener("copy", () => { window.copied = getSelection().toString(); });
			window.said = "";
			document.querySelectorAll("#empty .copy")[1].id = "second"`)
		click(b, "#second")
		b.until(`window.copied === document.querySelectorAll("#empty .text")[1].textContent`)
		b.until(`window.said.includes("Copied")`)

		for _, c := range []struct {
			o    Options
			want []string
		}{
			{Options{}, []string{"-method POST http://127.0.0.1:", "/live/test.flv"}},
			{Options{RTMPSAddr: ":443", ProtectPublish: true}, []string{`"rtmps://127.0.0.1/live/test?token=TOKEN"`, "\ntest?token=TOKEN\n", "sluice token --publish live/test"}},
		} {
			b := open(t, chromium, newFakeServer(t, c.o), "/", phone, false)
			b.until(`document.querySelector("#empty:not([hidden]) code")`)
			text := value[string](b, `[...document.querySelectorAll("#empty .text")].map((e) => e.textContent + "\n").join("")`)
			for _, w := range c.want {
				if !strings.Contains(text, w) {
					t.Errorf("with %+v there is no %s in\n%s", c.o, w, text)
				}
			}
			if strings.Contains(text, "rtmp://") {
				t.Errorf("with %+v there is an address of RTMP in\n%s", c.o, text)
			}
		}
	})

	t.Run("a server that goes away and comes back", func(t *testing.T) {
		t.Parallel()
		server := serve(t, "live/s")
		b := open(t, chromium, server, "/", phone, false, "500 (Internal Server Error)", "502")
		b.until(`document.getElementById("name").textContent === "live/s"`)
		server.set(func() { server.broken = true })
		b.until(`/Trying again/.test(document.getElementById("notice").textContent)`)
		b.legible()
		server.set(func() { server.broken = false })
		b.until(`document.getElementById("notice").hidden`)
	})
}
