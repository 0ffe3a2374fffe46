package page

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Options is what the page must know of the server that the API does not say.
type Options struct {
	// RTMPAddr and RTMPSAddr are the addresses that the listeners really have,
	// such as "[::]:1935". Of them the port counts, since the host is the one by
	// which the browser came. Empty or "off": there is no such listener.
	RTMPAddr, RTMPSAddr string
	// Merge is how long sends are gathered for a viewer who does not ask.
	Merge time.Duration
	// ProtectPublish and ProtectPlay say that a token is needed, so that the
	// lines to copy leave a place for one.
	ProtectPublish, ProtectPlay bool
}

// config is assets/config.json.
type config struct {
	RTMPPort       int   `json:"rtmp_port"`  // 0: no listener
	RTMPSPort      int   `json:"rtmps_port"` // 0: no listener
	MergeMS        int64 `json:"merge_ms"`
	ProtectPublish bool  `json:"protect_publish"`
	ProtectPlay    bool  `json:"protect_play"`
}

// port finds the port of an address that a listener has. A page with the
// wrong port shows lines that do not work, so that a bad address is a bug.
func port(addr string) int {
	if addr == "" || addr == "off" {
		return 0
	}
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		panic(fmt.Sprintf("page: address %q: %v", addr, err))
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 {
		panic(fmt.Sprintf("page: address %q has no port between 1 and 65535", addr))
	}
	return int(n)
}

func (o Options) config() []byte {
	text, err := json.Marshal(config{
		port(o.RTMPAddr), port(o.RTMPSAddr), o.Merge.Milliseconds(), o.ProtectPublish, o.ProtectPlay,
	})
	if err != nil {
		panic("page: " + err.Error()) // numbers and booleans
	}
	return text
}

// policy lets the page load from, connect to and send to its own server only.
// blob: is where a Media Source stands in the video element. Trusted types make
// the browser refuse every assignment of text as markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// Handler serves the page at / and its parts below /assets/; any other path
// is not found. It answers GET and HEAD. An asset may be kept but is asked for again each
// time, and is then answered with 304 as long as it is the same: a page never
// runs the scripts of two versions.
//
// Handler panics when an address in o has no port.
func Handler(o Options) http.Handler {
	served := make(map[string]*asset, len(embedded)+2)
	for name, a := range embedded {
		served["/assets/"+name] = a
	}
	served["/"] = embedded["index.html"]
	served["/assets/config.json"] = newAsset("config.json", o.config())

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := served[r.URL.Path]
		if a == nil {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD here", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		// A token may stand in the address of the page.
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		a.serve(w, r)
	})
}

// acceptsGzip reads an Accept-Encoding: gzip by name or by *, unless its
// weight is zero (RFC 9110, 12.5.3).
func acceptsGzip(header string) bool {
	everything := false
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		_, q, weighed := strings.Cut(strings.ReplaceAll(weight, " ", ""), "=")
		wanted := !weighed || strings.Trim(q, "0.") != ""
		switch name {
		case "gzip", "x-gzip":
			return wanted
		case "*":
			everything = wanted
		}
	}
	return everything
}

// matches reads an If-None-Match, which compares weakly (RFC 9110, 13.1.2).
func matches(header, etag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == etag {
			return true
		}
	}
	return false
}
