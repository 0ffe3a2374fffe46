package page

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOperatorsPage(t *testing.T) {
	chromium := browser(t)
	options := Options{RTMPAddr: ":41935", Merge: 80 * time.Millisecond}
	serve := func(t *testing.T) *fakeServer {
		server := newFakeServer(t, options)
		server.streams, server.clients = fakeMany(3), fakeClients("live/camera-1")
		server.token, server.closed = "secret", true
		return server
	}
	give := func(b *tab) {
		b.until(`document.getElementById("api-token").open`)
		if text := value[string](b, `document.querySelector("main").innerText`); strings.Contains(text, "Nothing is being published") {
			t.Errorf("what is not known is said to be nothing: %s", text)
		}
		typeInto(b, "#api-token-value", "secret")
		click(b, "#api-token-form .main")
		b.until(`document.querySelectorAll("#sessions tbody tr").length === 3 && document.querySelectorAll("#events tbody tr").length === 2`)
	}
	const unauthorized = "401"
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, chromium, serve(t), "/operate", l.width, l.dark, unauthorized)
			give(b)
			b.shoot("operate-" + l.name)
			b.fits()
			b.legible()
			b.named()
			text := value[string](b, `document.body.innerText`)
			for _, want := range []string{
				"live/camera-2", "publisher gone", "Publisher p1", "2.1 s", "192.0.2.9/32", "rtmps://third/app", "connection refused",
				"publish begin", "too slow for the stream", "live/<b>x</b>", "1 min 1 s", "v0.9.1-0.2026", "is being written",
			} {
				if !strings.Contains(text, want) && !(want == "publisher gone" && !strings.Contains(text, "live/camera-4")) {
					t.Errorf("the page does not say %q", want)
				}
			}
		})
	}
	t.Run("a long name leaves room", func(t *testing.T) {
		t.Parallel()
		server := serve(t)
		long := "live/" + strings.Repeat("long", 30)
		server.set(func() { server.clients = fakeClients(long) })
		b := open(t, chromium, server, "/operate", desktop, false, unauthorized)
		give(b)
		if cut := value[string](b, `(() => {
			const wide = [...document.querySelectorAll(".cards")].filter((e) => e.scrollWidth > e.clientWidth);
			return wide.map((e) => e.parentElement.id + ": " + e.scrollWidth + " of " + e.clientWidth).join(", ");
		})()`); cut != "" {
			t.Errorf("tables are cut off: %s", cut)
		}
		if title := value[string](b, `document.querySelector("#sessions td[data-head=Stream]").title`); title != long {
			t.Errorf("the whole name is %q", title)
		}
	})
	t.Run("its links to the API have the token", func(t *testing.T) {
		t.Parallel()
		b := open(t, chromium, serve(t), "/operate", desktop, false, unauthorized)
		give(b)
		click(b, `footer a[href="/api/streams"]`)
		b.until(`location.protocol === "blob:" && document.body.innerText.includes("live/camera-2")`)
	})
	t.Run("what it does", func(t *testing.T) {
		t.Parallel()
		server := serve(t)
		b := open(t, chromium, server, "/operate", desktop, false, unauthorized)
		give(b)
		examine := `[...document.querySelectorAll("#streams tbody tr")][0].querySelector("button").click()`
		b.do(examine)
		b.until(`document.getElementById("findings").textContent === "live/camera-1: nothing is wrong." && document.getElementById("findings").hasAttribute("data-well")`)
		server.set(func() {
			server.findings = []map[string]any{{"code": "viewer_line", "session": "v12", "says": "it takes <b>less</b>"}, {"code": "server_line", "says": "the line is full"}}
		})
		b.do(examine)
		b.until(`document.getElementById("findings").textContent === "live/camera-1: v12: it takes <b>less</b>; the line is full."`)
		b.fits()
		b.legible()
		kick := `[...document.querySelectorAll("#sessions tbody tr")].find((r) => r.innerText.includes("v13")).querySelector("button").click()`
		b.do(kick + ";" + kick) // it asks whether that is meant, for four seconds
		server.until(t, func() bool { return slices.Equal(server.kicked, []string{"v13"}) })
		b.do(`[...document.querySelectorAll("#sessions tbody tr")].find((r) => r.innerText.includes("v12")).querySelectorAll("button")[1].click()`)
		b.until(`document.getElementById("ban").open && document.getElementById("ban-title").innerText === "End and ban v12" && document.querySelector("#ban-by [value=token]").disabled`)
		click(b, "#ban-client-form .main")
		server.until(t, func() bool { return slices.Equal(server.kicked, []string{"v13", "v12?ban=10m&by=address"}) })
		b.do(`document.querySelector("#bans tbody button").click()`)
		server.until(t, func() bool { return slices.Contains(server.asked, "DELETE /api/bans/b1") })
		typeInto(b, "#ban-form [name=value]", "192.0.2.77")
		click(b, "#ban-form button")
		server.until(t, func() bool { return slices.Contains(server.asked, "POST /api/bans?by=address&value=192.0.2.77&for=1h") })
		typeInto(b, "#push-form [name=pattern]", "live/*")
		typeInto(b, "#push-form [name=url]", "rtmp://other/app/key")
		click(b, "#push-form button")
		server.until(t, func() bool {
			return slices.Contains(server.asked, `{"pattern":"live/*","url":"rtmp://other/app/key","enhanced":false}`)
		})
		b.until(`document.querySelector("#push-form [name=url]").value === ""`)
		remove := `document.querySelector("#push-added tbody button").click()`
		b.do(remove + ";" + remove)
		server.until(t, func() bool { return slices.Contains(server.asked, "DELETE /api/pushes/t1") })
		typeInto(b, "#record-form [name=stream]", "live/cam1")
		click(b, "#record-form [value=off]")
		server.until(t, func() bool { return slices.Contains(server.asked, "DELETE /api/recordings?stream=live%2Fcam1") })
		click(b, "#record-form [value=on]")
		server.until(t, func() bool { return slices.Contains(server.asked, "POST /api/recordings?stream=live%2Fcam1") })
		erase := `[...document.querySelectorAll("#recordings tbody tr")][1].querySelectorAll("button")[1].click()`
		b.do(erase + ";" + erase)
		server.until(t, func() bool { return slices.Contains(server.asked, "DELETE /api/recordings/live/s-20260102-140405.mp4") })
		typeInto(b, "#token-form [name=stream]", "live/cam1")
		click(b, "#token-form button")
		b.until(`document.getElementById("token-lines").innerText.includes("rtmp://127.0.0.1:41935/live/cam1?token=cam7.1.abc")`)
		server.until(t, func() bool {
			return slices.Contains(server.asked, "POST /api/tokens?action=publish&stream=live%2Fcam1&for=24h&id=")
		})
		typeInto(b, "#event-filter", "evicted")
		b.until(`document.querySelectorAll("#events tbody tr").length === 1`)
		typeInto(b, "#session-filter", "no such session")
		b.until(`document.querySelectorAll("#sessions tbody tr").length === 0 && document.getElementById("sessions").innerText.includes("There are no sessions")`)
	})
}
