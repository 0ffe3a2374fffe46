package page

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// A stream on three nodes is one on the viewers' page and three on the operator's.
func TestPagesOfACluster(t *testing.T) {
	chromium := browser(t)
	server := newFakeServer(t, Options{RTMPAddr: ":41935"})
	for _, node := range []string{"c", "a", "b"} {
		s := fakeStream("live/camera-1", 1)
		s["node"], s["viewers"] = node, 3
		if node != "a" {
			s["from"] = "a"
		}
		server.streams = append(server.streams, s)
	}
	server.clients, server.node = fakeClients("live/camera-1"), "b"
	for _, c := range server.clients {
		c["id"] = c["id"].(string) + "@a"
	}
	b := open(t, chromium, server, "/", desktop, false)
	b.until(`document.querySelectorAll("#list li").length === 1 && document.querySelector("#list li").innerText.includes("a, b, c")`)
	b.until(`document.querySelector("#list li").innerText.includes("7 viewers")`) // nine, two of which are nodes
	b.until(`document.getElementById("clients").innerText.includes("@a")`)

	b = open(t, chromium, server, "/operate", desktop, false)
	b.until(`document.querySelectorAll("#streams tbody tr").length === 3 && document.querySelectorAll("#sessions tbody tr").length === 3`)
	b.until(`document.querySelectorAll("#events tbody tr").length === 2`)
	text := value[string](b, `document.body.innerText`)
	for _, want := range []string{"live/camera-1 @a", "live/camera-1 @b", "live from a", "@a", "live/<b>x</b> @b"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	b.until(`document.querySelector("#push-added tbody tr").innerText.includes("t1 @b")`)
	remove := `document.querySelector("#push-added tbody button").click()`
	b.do(remove + ";" + remove) // it asks whether that is meant, for four seconds
	server.until(t, func() bool { return slices.Contains(server.asked, "DELETE /api/pushes/t1?node=b") })
}

// A page that plays over WebSocket asks its server where to connect, which the redirect of
// a WebSocket could not tell it, and goes there again when the connection ends.
func TestPageAsksWhereToConnect(t *testing.T) {
	chromium := browser(t)
	other := newFakeServer(t, Options{})
	server := newFakeServer(t, Options{Nodes: func() []string { return []string{other.URL} }})
	for _, s := range []*fakeServer{server, other} {
		s.streams = []map[string]any{fakeStream("live/s", 0)}
	}
	b := open(t, chromium, server, "/?stream=live/s&token=x", desktop, false)
	b.until(`document.getElementById("video").currentTime > 0`)
	server.until(t, func() bool { return len(server.played) > 0 })
	const overWebSocket = `(() => {
		const e = document.getElementById("transport");
		e.value = "ws";
		return e.dispatchEvent(new Event("change", {bubbles: true}));
	})()`
	before := 0
	server.set(func() { before = len(server.played) })
	b.do(overWebSocket)
	server.until(t, func() bool { return len(server.played) > before }) // itself: it has room
	b.until(`document.getElementById("video").currentTime > 0`)
	server.set(func() { server.other, before = other.URL, len(server.played) })
	b.do(overWebSocket)
	other.until(t, func() bool { return len(other.played) > 0 })
	b.until(`document.getElementById("video").currentTime > 0`)
	again := 0
	other.set(func() { again, other.over = len(other.played), other.over+1 })
	other.until(t, func() bool { return len(other.played) > again })
	b.until(`document.getElementById("video").currentTime > 0 && document.getElementById("cover").hidden`)
	for _, path := range other.played {
		if path != "/live/s.flv?token=x&placed=1" {
			t.Errorf("the other server was asked for %s", path)
		}
	}
	if len(server.played) != before {
		t.Errorf("the server played %q, %d of them before", server.played, before)
	}
}

// A page whose server is away plays from another one of the cluster, and comes back.
func TestPageGoesToAnotherServer(t *testing.T) {
	chromium := browser(t)
	other := newFakeServer(t, Options{})
	others := func() []string { return []string{other.URL} }
	server := newFakeServer(t, Options{Nodes: others, Others: others})
	for _, s := range []*fakeServer{server, other} {
		s.streams = []map[string]any{fakeStream("live/s", 0)}
	}
	server.other = other.URL // to which the page may connect
	b := open(t, chromium, server, "/?stream=live/s&token=x", desktop, false, "ERR_EMPTY_RESPONSE")
	const plays = `document.getElementById("video").currentTime > 0 && document.getElementById("cover").hidden`
	b.until(plays)
	server.set(func() {
		server.gone = true
		server.over++
	})
	other.until(t, func() bool { return len(other.played) == 1 && other.played[0] == "/live/s.flv?token=x" })
	b.until(plays)
	server.set(func() { server.gone = false })
	other.set(func() { other.over++ })
	server.until(t, func() bool { return len(server.played) == 2 })
	b.until(plays)
}

// A page goes to a server of the cluster that has come after it, and to which its policy does
// not let it connect, when its own is away: it becomes that server's page.
func TestPageGoesToALaterServer(t *testing.T) {
	chromium := browser(t)
	other := newFakeServer(t, Options{})
	var there atomic.Bool
	asked := make(chan struct{}, 1)
	others := func() []string {
		if !there.Load() {
			return nil
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		return []string{other.URL}
	}
	server := newFakeServer(t, Options{Nodes: func() []string { return nil }, Others: others})
	for _, s := range []*fakeServer{server, other} {
		s.streams = []map[string]any{fakeStream("live/s", 0)}
	}
	server.other = other.URL // to which the page may connect
	b := open(t, chromium, server, "/?stream=live/s&token=x", desktop, false, "ERR_EMPTY_RESPONSE")
	const plays = `document.getElementById("video").currentTime > 0 && document.getElementById("cover").hidden`
	b.until(plays)
	there.Store(true)
	select {
	case <-asked:
	case <-b.ctx.Done():
		t.Fatal("the page does not ask for other servers")
	}
	server.set(func() {
		server.gone = true
		server.over++
	})
	other.until(t, func() bool { return len(other.played) > 0 && other.played[0] == "/live/s.flv?token=x" })
	b.until(plays)
	if at := value[string](b, `location.href`); at != other.URL+"/?stream=live%2Fs&token=x" {
		t.Errorf("the page is at %s", at)
	}
}
