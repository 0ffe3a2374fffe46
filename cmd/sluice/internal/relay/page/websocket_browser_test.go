package page

import (
	"context"
	"fmt"
	"testing"
)

// chooseWay plays the stream that is shown by a way.
func chooseWay(b *tab, way string) {
	b.t.Helper()
	b.do(`(() => {
		const e = document.getElementById("transport");
		e.value = "` + way + `";
		e.dispatchEvent(new Event("change"));
	})()`)
}

const message = `document.getElementById("player-message").textContent`

// Browsers keep the status of a WebSocket's handshake from the page, which says the reason all the same.
func refusedWebSocket(t *testing.T, chromium context.Context) {
	server := newFakeServer(t, Options{})
	server.play = "secret"
	b := open(t, chromium, server, "/?stream=live/later", desktop, false, "404 (Not Found)", "403 (Forbidden)", "WebSocket connection to", "ERR_EMPTY_RESPONSE")
	says := func(want string, asks bool) {
		t.Helper()
		b.until(fmt.Sprintf("%s === %q", message, want)) // in one look: between two it may have tried again
		if got := value[bool](b, `!document.getElementById("play-token").hidden`); got != asks {
			t.Errorf("it asks for a token: %v, want %v", got, asks)
		}
	}
	b.until(`/^Nobody/.test(` + message + `)`)
	chooseWay(b, "ws")
	says("Nobody is publishing this stream right now. It starts here when they do.", false)
	b.shoot("websocket-waiting")

	server.set(func() { server.gone = true })
	chooseWay(b, "ws")
	says("The connection broke off. Trying again.", false)

	server.set(func() { server.gone, server.streams = false, []map[string]any{fakeStream("live/later", 0)} })
	b.until(`/^The server refused: this stream needs a play token/.test(` + message + `)`)
	typeInto(b, "#play-token-value", "secret\r")
	b.until(playing)
}

// mpegts.js throws when a WebSocket fails that it has given up, as one does that is closed before it is there.
func leftWebSocket(t *testing.T, chromium context.Context, server *fakeServer) {
	b := open(t, chromium, server, "/?stream=live/s", desktop, false, "WebSocket is closed before the connection is established")
	b.until(playing)
	server.set(func() { server.held = true })
	chooseWay(b, "ws")
	server.until(t, func() bool { return len(server.played) == 2 })
	click(b, "#stop")
	server.until(t, func() bool { return server.left == 1 })
}
