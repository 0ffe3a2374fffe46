package page

import (
	"strings"
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
	server.clients = fakeClients("live/camera-1")
	for _, c := range server.clients {
		c["id"] = c["id"].(string) + "@a"
	}
	b := open(t, chromium, server, "/", desktop, false)
	b.until(`document.querySelectorAll("#list li").length === 1 && document.querySelector("#list li").innerText.includes("a, b, c")`)
	b.until(`document.querySelector("#list li").innerText.includes("7 viewers")`) // nine, two of which are nodes
	b.until(`document.getElementById("clients").innerText.includes("@a")`)

	b = open(t, chromium, server, "/operate", desktop, false)
	b.until(`document.querySelectorAll("#streams tbody tr").length === 3 && document.querySelectorAll("#sessions tbody tr").length === 3`)
	text := value[string](b, `document.body.innerText`)
	for _, want := range []string{"live/camera-1 @a", "live/camera-1 @b", "live from a", "@a"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
