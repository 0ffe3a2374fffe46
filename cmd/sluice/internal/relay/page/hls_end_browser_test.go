package page

import (
	"context"
	"fmt"
	"testing"
)

// hls.js says once that the picture stands. When that was before the end of the playlist, or short of
// the last segment, the stream ends here all the same.
func theEndByHLS(t *testing.T, chromium context.Context) {
	b := open(t, chromium, newFakeServer(t, Options{HLS: true}), "/", desktop, false)
	fakeHLS(b)
	b.until(`window.began`)
	value[bool](b, `(() => {
		emit("FRAG_LOADING", {});
		emit("LEVEL_UPDATED", { details: { live: false, fragments: [{ start: 13 }] } });
		emit("FRAG_BUFFERED", {});
		return true;
	})()`)
	b.until(`window.over`)
}

// hls.js that stops to ask for the playlist of a stream that goes on is given up.
func silenceByHLS(t *testing.T, chromium context.Context) {
	b := open(t, chromium, newFakeServer(t, Options{HLS: true}), "/", desktop, false)
	fakeHLS(b)
	b.until(`window.began`)
	value[bool](b, `(HLS.silence = 100, emit("LEVEL_UPDATED", { details: { live: true, fragments: [] } }), true)`)
	b.until(`window.failed`)
	if over := value[bool](b, `Boolean(window.over)`); over {
		t.Error("a stream that goes on has ended")
	}
}

// A server that answers 503 for a playlist that it had has viewers enough: nothing comes of the stream.
func nothingByHLS(t *testing.T, chromium context.Context) {
	for details, want := range map[string]string{"levelLoadError": "NothingCame", "manifestLoadError": "HttpStatusCodeInvalid"} {
		b := open(t, chromium, newFakeServer(t, Options{HLS: true}), "/", desktop, false)
		fakeHLS(b)
		b.until(`window.began`)
		value[bool](b, fmt.Sprintf(`(emit("ERROR", { fatal: true, type: "networkError", details: %q, response: { code: 503 } }), true)`, details))
		b.until(`window.failed`)
		if got := value[string](b, `window.failed`); got != want {
			t.Errorf("%s: %s, want %s", details, got, want)
		}
	}
}

// fakeHLS has the page play by HLS with a library that does what the test says.
func fakeHLS(b *tab) {
	value[bool](b, `(() => {
		const on = {};
		class Hls {
			static isSupported() { return true; }
			static Events = new Proxy({}, { get: (_, name) => name });
			static ErrorDetails = { MANIFEST_LOAD_ERROR: "manifestLoadError" };
			static ErrorTypes = {};
			on(name, f) { (on[name] ??= []).push(f); }
			attachMedia() {}
			loadSource() { window.began = true; }
			destroy() {}
		}
		Object.defineProperty(window, "Hls", { value: Hls, writable: false }); // the library cannot replace it
		window.emit = (name, data) => (on[name] ?? []).forEach((f) => f(name, data));
		import("/assets/hlsplay.js").then(({ HLS }) => {
			window.HLS = HLS;
			const h = new HLS("/live/s.m3u8");
			h.on("ended", () => { window.over = true; });
			h.on("error", (_, detail) => { window.failed = detail; });
			h.attachMediaElement({ paused: false, currentTime: 12.4, buffered: { length: 1, end: () => 12.5 } });
			h.load();
		});
		return true;
	})()`)
}
