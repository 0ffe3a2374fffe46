package page

import (
	"context"
	"net/http"
	"testing"
)

// whep answers an offer and the end of a session, without media: those are the browser's own.
func (f *fakeServer) whep(w http.ResponseWriter, r *http.Request) {
	gone := false
	f.set(func() { gone = f.gone })
	if gone {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Location", r.URL.Path+"/1")
	w.WriteHeader(http.StatusCreated)
}

// A server that was killed says no goodbye, and the browser shows the last picture, or moves on without
// one. The page says within seconds that nothing comes, and tries again; while only the media stands
// still it waits.
func silenceByWHEP(t *testing.T, chromium context.Context) {
	server := newFakeServer(t, Options{WebRTC: true})
	server.streams = []map[string]any{fakeStream("live/s", 0)}
	b := open(t, chromium, server, "/", desktop, false, "ERR_EMPTY_RESPONSE")
	b.do(`(() => {
		const canvas = document.createElement("canvas");
		const picture = canvas.getContext("2d");
		setInterval(() => { picture.fillStyle = "hsl(" + performance.now() % 360 + " 50% 50%)"; picture.fillRect(0, 0, 300, 150); }, 40);
		window.silent = window.blocked = false;
		let alive = 0;
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
				return new Map([["RTP", { type: "inbound-rtp", bytesReceived: 7 }], ["pair", { type: "candidate-pair", bytesReceived: 7, requestsReceived: 0, responsesReceived: alive }]]);
			}
			close() {}
		};
		const now = performance.now.bind(performance);
		let ahead = 0;
		performance.now = () => now() + ahead;
		window.pass = (ms) => { ahead += ms; };
	})()`)
	click(b, "#watch")
	b.until(playing)
	chooseWay(b, "whep")
	b.until(playing)
	b.until(`(pass(1000), document.getElementById("video").currentTime > 3)`) // much of its time
	server.set(func() { server.gone = true })
	b.do(`window.silent = true`)
	const lost = "The connection broke off. Trying again."
	b.until(`!document.getElementById("cover").hidden && ` + message + ` === ` + quoted(lost))
	b.shoot("whep-silent")
	b.until(`(pass(1000), ` + message + ` === "Connecting again…")`)
	b.until(message + ` === ` + quoted(lost))
	server.set(func() { server.gone = false })
	b.do(`window.silent = false`)
	b.until(`(pass(1000), ` + playing + `)`)

	b.do(`window.blocked = true`) // by a firewall, say
	chooseWay(b, "whep")
	b.until(`/^The media connection could not be made/.test(` + message + `)`)
}
