package page

import (
	"context"
	"net/http"
	"testing"
)

// whep answers an offer and the end of a session, without media: those are the browser's own.
func (f *fakeServer) whep(w http.ResponseWriter, r *http.Request) {
	gone, untaken := false, false
	f.set(func() { gone, untaken = f.gone, f.untaken })
	if gone {
		panic(http.ErrAbortHandler)
	}
	if untaken {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Location", r.URL.Path+"/1")
	w.WriteHeader(http.StatusCreated)
}

// fakeWebRTC makes the page's connections by WebRTC ones with a picture of its own: window.still stops
// that, window.silent the server's signs of life, and window.blocked any connection. window.pass lets
// time pass.
const fakeWebRTC = `(() => {
	const canvas = document.createElement("canvas");
	const picture = canvas.getContext("2d");
	window.still = window.silent = window.blocked = false;
	let [alive, shown] = [0, 0];
	setInterval(() => {
		if (still) return;
		shown++;
		picture.fillStyle = "hsl(" + performance.now() % 360 + " 50% 50%)";
		picture.fillRect(0, 0, 300, 150);
	}, 40);
	window.RTCPeerConnection = class {
		connectionState = "new";
		addTransceiver() {}
		async createOffer() { return { type: "offer", sdp: "" }; }
		async setLocalDescription() {}
		async setRemoteDescription() {
			this.ontrack({ track: canvas.captureStream().getVideoTracks()[0] });
			this.connectionState = blocked ? "failed" : "connected";
			this.onconnectionstatechange();
		}
		getReceivers() { return []; }
		async getStats() {
			if (!silent) alive++;
			return new Map([["RTP", { type: "inbound-rtp", kind: "video", bytesReceived: 1000 * shown, framesDecoded: shown }], ["pair", { type: "candidate-pair", bytesReceived: 7, requestsReceived: 0, responsesReceived: alive }]]);
		}
		close() {}
	};
	const now = performance.now.bind(performance);
	let ahead = 0;
	performance.now = () => now() + ahead;
	window.pass = (ms) => { ahead += ms; };
})()`

// A server that was killed says no goodbye, and the browser shows the last picture, or moves on without
// one. The page says within seconds that nothing comes, and tries again; while only the media stands
// still it waits.
func silenceByWHEP(t *testing.T, chromium context.Context) {
	server := newFakeServer(t, Options{WebRTC: true})
	server.streams = []map[string]any{fakeStream("live/s", 0)}
	b := open(t, chromium, server, "/", desktop, false, "ERR_EMPTY_RESPONSE")
	b.do(fakeWebRTC)
	click(b, "#watch")
	b.until(playing)
	chooseWay(b, "whep")
	b.until(playing)
	b.until(`(pass(1000), document.getElementById("video").currentTime > 3)`) // much of its time
	server.set(func() { server.gone = true })
	// What the page says while it tries is there for a moment only.
	b.do(`window.said = []; new MutationObserver(() => said.push(` + message + `)).observe(document.getElementById("player-message"), { childList: true }); window.silent = true`)
	const lost = "The connection broke off. Trying again."
	b.until(`!document.getElementById("cover").hidden && ` + message + ` === ` + quoted(lost))
	b.shoot("whep-silent")
	b.until(`(pass(1000), said.includes("Connecting again…"))`)
	b.until(message + ` === ` + quoted(lost))
	server.set(func() { server.gone = false })
	b.do(`window.silent = false`)
	b.until(`(pass(1000), ` + playing + `)`)

	b.do(`window.blocked = true`) // by a firewall, say
	chooseWay(b, "whep")
	b.until(`/^The media connection could not be made/.test(` + message + `)`)
}

// While the publisher has gone the last picture stands, and the video's time runs on. The page follows
// the pictures, and says within seconds what is the matter.
func stillByWHEP(t *testing.T, chromium context.Context) {
	server := newFakeServer(t, Options{WebRTC: true})
	stream := fakeStream("live/s", 0)
	server.streams = []map[string]any{stream}
	b := open(t, chromium, server, "/", desktop, false)
	b.do(fakeWebRTC)
	click(b, "#watch")
	b.until(playing)
	b.until(under + ` === "HTTP"`)
	chooseWay(b, "whep")
	b.until(playing + ` && ` + under + ` === "WebRTC"`)
	server.set(func() { stream["state"] = "grace" })
	b.do(`window.still = true`)
	b.until(`/The picture stalls: the publisher has gone/.test(document.getElementById("why").innerText)`)
	b.until(`!document.getElementById("cover").hidden && /^The publisher is gone for the moment/.test(` + message + `)`)
	b.shoot("whep-still")
	server.set(func() { stream["state"] = "live" })
	b.do(`window.still = false`)
	b.until(playing)

	// A way that does not play is not called by the name of the one before.
	chooseWay(b, "flv")
	b.until(playing + ` && ` + under + ` === "HTTP"`)
	b.do(`window.blocked = true`)
	chooseWay(b, "whep")
	b.until(`/^The media connection could not be made/.test(` + message + `)`)
	if got := value[string](b, `document.getElementById("playing").innerText`); got != "" {
		t.Errorf("under the picture of a connection that was not made: %q", got)
	}
}

// A browser may lack a codec in WebRTC only, as Firefox H.264 without its plug-in: the best way is another then.
func untakenByWHEP(t *testing.T, chromium context.Context) {
	server := newFakeServer(t, Options{WebRTC: true})
	stream := fakeStream("live/s", 0)
	stream["publisher"].(map[string]any)["protocol"] = "whip"
	stream["audio"].(map[string]any)["codec"] = "Opus"
	server.streams = []map[string]any{stream}
	b := open(t, chromium, server, "/", desktop, false, "status of 406")
	b.do(fakeWebRTC)
	click(b, "#watch")
	b.until(playing + ` && ` + under + ` === "WebRTC"`)

	b.do(`RTCRtpReceiver.getCapabilities = (kind) => ({ codecs: [{ mimeType: kind === "video" ? "video/VP8" : "audio/opus" }] })`)
	chooseWay(b, "auto")
	b.until(playing + ` && ` + under + ` === "HTTP"`)

	b.do(`RTCRtpReceiver.getCapabilities = undefined`)
	server.set(func() { server.untaken = true })
	chooseWay(b, "whep")
	b.until(`/cannot play by WebRTC what the stream has/.test(` + message + `)`)
	click(b, "#watch") // again, the same
	b.until(`/cannot play by WebRTC what the stream has/.test(` + message + `)`)
	b.do(`document.getElementById("transport").value = "auto"`)
	click(b, "#watch")
	b.until(playing + ` && ` + under + ` === "HTTP"`)
}

// under is the name of the way under the picture.
const under = `document.querySelector("#playing [data-term=By] dd")?.textContent`
