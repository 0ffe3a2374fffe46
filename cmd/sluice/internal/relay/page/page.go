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

// Options is what the page must know about the server beside the API.
type Options struct {
	// RTMPAddr and RTMPSAddr are the addresses that the listeners really have,
	// such as "[::]:1935". Only the port is used; the host is the one in the
	// browser's URL. Empty or "off": there is no such listener.
	RTMPAddr, RTMPSAddr string
	RTSPAddr, RTSPSAddr string
	SRTAddr             string // UDP
	// SRTEncrypted says that SRT asks for a passphrase, so that the lines to copy have a
	// placeholder for it.
	SRTEncrypted bool
	// Nodes returns the origins of other servers to which viewers may be sent, which the
	// page may then connect to; nil: it is in no cluster.
	Nodes func() []string
	// Others returns where viewers watch on the other servers, which the page asks when its
	// own is away; nil: it is in no cluster.
	Others      func() []string
	HLS, WebRTC bool // streams can be watched by HLS, and by WHEP
	// Merge is the merge time of a viewer who does not request one.
	Merge time.Duration
	// ProtectPublish and ProtectPlay say that a token is needed, so that the
	// lines to copy have a placeholder for it.
	ProtectPublish, ProtectPlay bool
}

// config is assets/config.json.
type config struct {
	RTMPPort       int   `json:"rtmp_port"`  // 0: no listener
	RTMPSPort      int   `json:"rtmps_port"` // 0: no listener
	RTSPPort       int   `json:"rtsp_port"`
	RTSPSPort      int   `json:"rtsps_port"`
	SRTPort        int   `json:"srt_port"`
	SRTEncrypted   bool  `json:"srt_encrypted"`
	HLS            bool  `json:"hls"`
	WebRTC         bool  `json:"webrtc"`
	MergeMS        int64 `json:"merge_ms"`
	ProtectPublish bool  `json:"protect_publish"`
	ProtectPlay    bool  `json:"protect_play"`
	Cluster        bool  `json:"cluster"` // the server says where to connect
	// Others are those that there are at the moment.
	Others []string `json:"others,omitempty"`
}

// port returns the port of a listener's address. It panics for a bad address,
// since a page with a wrong port would show lines that do not work.
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
	var others []string
	if o.Others != nil {
		others = o.Others()
	}
	text, err := json.Marshal(config{
		port(o.RTMPAddr), port(o.RTMPSAddr), port(o.RTSPAddr), port(o.RTSPSAddr), port(o.SRTAddr), o.SRTEncrypted, o.HLS, o.WebRTC, o.Merge.Milliseconds(), o.ProtectPublish, o.ProtectPlay, o.Nodes != nil, others,
	})
	if err != nil {
		panic("page: " + err.Error()) // plain data
	}
	return text
}

// policy lets the page load from, connect to and send to its own server only, and connect
// to those of its cluster.
// blob: is where a Media Source stands in the video element. Trusted types make
// the browser refuse every assignment of text as markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'%[1]s%[2]s; " +
	"media-src 'self' blob:%[1]s; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// policy returns the policy with the other servers, over HTTP and WebSocket.
func (o Options) policy() string {
	more, sockets := "", ""
	if o.Nodes != nil {
		for _, origin := range o.Nodes() {
			if rest, ok := strings.CutPrefix(origin, "http"); ok && !strings.ContainsAny(origin, " ;,'\"") {
				if scheme, host, ok := strings.Cut(rest, "["); ok {
					// A policy has no form for an address of IPv6 (CSP, section 2.3.1): any host has to do.
					_, port, _ := strings.Cut(host, "]")
					rest = scheme + "*" + port
				}
				more += " http" + rest
				sockets += " ws" + rest
			}
		}
	}
	return fmt.Sprintf(policy, more, sockets)
}

// nothing is the answer to an unknown path: what there is, whatever streams there are.
func (o Options) nothing() []byte {
	play, publish := "/APP/NAME.flv", "/APP/NAME.flv (POST)"
	if o.HLS {
		play += ", /APP/NAME.m3u8"
	}
	if o.WebRTC {
		play, publish = play+", /APP/NAME/whep", publish+", /APP/NAME/whip"
	}
	text, err := json.Marshal(map[string]string{"error": "nothing is here: a stream is played at " + play + ", published at " + publish + ", and the page at / lists them"})
	if err != nil {
		panic("page: " + err.Error()) // a string
	}
	return append(text, '\n')
}

// Handler serves the page at /, the operator's at /operate, and their parts below /assets/; any other path is
// not found, and the answer says what forms of address there are. It answers GET and HEAD. Browsers may cache an asset but must
// revalidate it each time, and get 304 while it is unchanged: so a page never
// runs scripts of two versions.
//
// Handler panics when an address in o has no port.
func Handler(o Options) http.Handler {
	served := make(map[string]*asset, len(embedded)+2)
	for name, a := range embedded {
		served["/assets/"+name] = a
	}
	served["/"] = embedded["index.html"]
	served["/operate"] = embedded["operate/index.html"]
	const configPath = "/assets/config.json"
	served[configPath] = newAsset("config.json", o.config())
	nothing := o.nothing()

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := served[r.URL.Path]
		if o.Others != nil && r.URL.Path == configPath {
			a = newAsset("config.json", o.config())
		}
		if a == nil {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusNotFound)
			w.Write(nothing)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD here", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", o.policy())
		// The page's URL may contain a token.
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
