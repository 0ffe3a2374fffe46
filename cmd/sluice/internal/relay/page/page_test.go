package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

func pageGet(t *testing.T, h http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func pageBody(t *testing.T, res *http.Response) []byte {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// pagePaths are all that the handler serves.
func pagePaths() []string {
	paths := []string{"/", "/operate", "/assets/config.json"}
	for name := range embedded {
		paths = append(paths, "/assets/"+name)
	}
	return paths
}

func TestTypes(t *testing.T) {
	h := Handler(Options{})
	for path, want := range map[string]string{
		"/":                                    "text/html; charset=utf-8",
		"/assets/index.html":                   "text/html; charset=utf-8",
		"/assets/style.css":                    "text/css; charset=utf-8",
		"/assets/main.js":                      "text/javascript; charset=utf-8",
		"/assets/mpegts/mpegts.js":             "text/javascript; charset=utf-8",
		"/assets/mpegts/LICENSE":               "text/plain; charset=utf-8",
		"/assets/mpegts/mpegts.js.LICENSE.txt": "text/plain; charset=utf-8",
		"/assets/icon.svg":                     "image/svg+xml",
		"/assets/config.json":                  "application/json",
	} {
		res := pageGet(t, h, "GET", path)
		if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != want {
			t.Errorf("%s: status %d, type %q, want %q", path, res.StatusCode, got, want)
		}
		if got := res.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options %q", path, got)
		}
	}
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	h := Handler(Options{})
	for _, path := range []string{"/index.html", "/assets", "/assets/", "/assets/none.js", "/assets/mpegts/", "/assets/../page.go", "/assets//main.js", "/x"} {
		if res := pageGet(t, h, "GET", path); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", path, res.StatusCode)
		}
	}
}

// Who mistypes a stream's address learns which forms there are, and nothing of the streams.
func TestUnknownPathsSayWhatThereIs(t *testing.T) {
	for _, c := range []struct {
		with        Options
		want, never []string
	}{
		{Options{}, []string{"/APP/NAME.flv", "POST"}, []string{"m3u8", "whep", "whip"}},
		{Options{HLS: true, WebRTC: true}, []string{"/APP/NAME.flv", "/APP/NAME.m3u8", "/APP/NAME/whep", "/APP/NAME/whip"}, nil},
	} {
		for _, path := range []string{"/live/x.ts", "/live/x", "/live", "/live/x.m3u", "/live/x/whap", "/LIVE/X.FLV", "/favicon.ico"} {
			res := pageGet(t, Handler(c.with), "GET", path)
			var answer struct{ Error string }
			if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%s: %v, %v", path, err, res.Header)
			}
			for _, part := range c.want {
				if !strings.Contains(answer.Error, part) {
					t.Errorf("%s: %q lacks %q", path, answer.Error, part)
				}
			}
			for _, part := range append(c.never, "live/x") {
				if strings.Contains(answer.Error, part) {
					t.Errorf("%s: %q has %q", path, answer.Error, part)
				}
			}
		}
	}
}

func TestOnlyGetAndHead(t *testing.T) {
	h := Handler(Options{})
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		res := pageGet(t, h, method, "/")
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: status %d, Allow %q", method, res.StatusCode, res.Header.Get("Allow"))
		}
	}
	for _, path := range pagePaths() {
		for _, encoding := range []string{"", "gzip"} {
			get := pageGet(t, h, "GET", path, "Accept-Encoding", encoding)
			head := pageGet(t, h, "HEAD", path, "Accept-Encoding", encoding)
			if n := len(pageBody(t, head)); n != 0 {
				t.Errorf("HEAD %s has a body of %d bytes", path, n)
			}
			for _, field := range []string{"Content-Type", "Content-Length", "Content-Encoding", "ETag", "Cache-Control", "Vary"} {
				if g, h := get.Header.Get(field), head.Header.Get(field); g != h {
					t.Errorf("%s: %s is %q for GET and %q for HEAD", path, field, g, h)
				}
			}
		}
	}
}

// An asset is asked for again each time, and sent again only when it is another.
func TestUnchangedAssetsAreNotSentAgain(t *testing.T) {
	h := Handler(Options{RTMPAddr: ":1935"})
	tags := map[string]string{}
	for _, path := range pagePaths() {
		if path == "/assets/index.html" || path == "/assets/operate/index.html" {
			continue // the same as / and /operate
		}
		for _, encoding := range []string{"identity", "gzip"} {
			res := pageGet(t, h, "GET", path, "Accept-Encoding", encoding)
			etag := res.Header.Get("ETag")
			if !regexp.MustCompile(`^"[0-9a-f]{24}(-gz)?"$`).MatchString(etag) {
				t.Errorf("%s: ETag %q is not a strong tag", path, etag)
			}
			if other, ok := tags[etag]; ok && (res.Header.Get("Content-Encoding") != "" || encoding == "identity") {
				t.Errorf("%s and %s have the tag %s", path, other, etag)
			}
			tags[etag] = path
			if got := res.Header.Get("Cache-Control"); got != "no-cache" {
				t.Errorf("%s: Cache-Control %q", path, got)
			}
			for _, header := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
				again := pageGet(t, h, "GET", path, "Accept-Encoding", encoding, "If-None-Match", header)
				if again.StatusCode != http.StatusNotModified || len(pageBody(t, again)) != 0 || again.Header.Get("ETag") != etag {
					t.Errorf("%s with If-None-Match %s: status %d, ETag %s", path, header, again.StatusCode, again.Header.Get("ETag"))
				}
			}
			if again := pageGet(t, h, "GET", path, "Accept-Encoding", encoding, "If-None-Match", `"other"`); again.StatusCode != 200 {
				t.Errorf("%s with another tag: status %d", path, again.StatusCode)
			}
		}
	}
	a := pageGet(t, h, "GET", "/assets/config.json").Header.Get("ETag")
	if b := pageGet(t, Handler(Options{RTMPAddr: ":1936"}), "GET", "/assets/config.json").Header.Get("ETag"); a == b {
		t.Errorf("two configurations have the tag %s", a)
	}
}

func TestCompression(t *testing.T) {
	h := Handler(Options{})
	for _, path := range pagePaths() {
		plain := pageBody(t, pageGet(t, h, "GET", path))
		res := pageGet(t, h, "GET", path, "Accept-Encoding", "br, gzip;q=0.8")
		packed := pageBody(t, res)
		if res.Header.Get("Content-Encoding") == "" {
			if len(plain) > 500 {
				t.Errorf("%s of %d bytes is not compressed", path, len(plain))
			}
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: the compressed form holds %d bytes, the plain one %d: %v", path, len(got), len(plain), err)
		}
		if len(packed) >= len(plain) {
			t.Errorf("%s: %d bytes compressed, %d plain", path, len(packed), len(plain))
		}
	}
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "deflate, gzip": true, "gzip;q=0": false, "gzip; q=0.000": false, "gzip;q=0.001": true,
		"*": true, "*;q=0": false, "gzip;q=0, *": false, "identity": false, "br": false, "xgzip": false,
	} {
		if got := acceptsGzip(header); got != want {
			t.Errorf("Accept-Encoding %q: %v", header, got)
		}
	}
}

// The policy names no host and allows no code but the page's own files.
func TestPolicy(t *testing.T) {
	h := Handler(Options{})
	for _, path := range pagePaths() {
		csp := pageGet(t, h, "GET", path).Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") {
			t.Errorf("%s: policy %q", path, csp)
		}
		for directive := range strings.SplitSeq(csp, "; ") {
			name, sources, _ := strings.Cut(directive, " ")
			for _, source := range strings.Fields(sources) {
				switch {
				case source == "'none'" || source == "'self'":
				case name == "media-src" && source == "blob:":
				case name == "require-trusted-types-for" && source == "'script'":
				default:
					t.Errorf("%s: the policy allows %s %s", path, name, source)
				}
			}
		}
	}
	page := string(pageBody(t, pageGet(t, h, "GET", "/")))
	for _, refused := range []string{"<style", " style=", " onclick=", " onerror=", "javascript:"} {
		if strings.Contains(page, refused) {
			t.Errorf("the page has %q, which its own policy refuses", refused)
		}
	}
	if inline := regexp.MustCompile(`<script(>|[^>]*>[^<])`).FindString(page); inline != "" {
		t.Errorf("the page has a script in it, which its own policy refuses: %s", inline)
	}
}

// In a cluster the page may connect to the other nodes, and to nothing else.
func TestPolicyOfACluster(t *testing.T) {
	h := Handler(Options{Nodes: func() []string {
		return []string{"http://b:8080", "https://c", "*", "ftp://d", "http://e; script-src *"}
	}})
	csp := pageGet(t, h, "GET", "/").Header.Get("Content-Security-Policy")
	for _, want := range []string{"; connect-src 'self' http://b:8080 https://c ws://b:8080 wss://c; ", "; media-src 'self' blob: http://b:8080 https://c; "} {
		if !strings.Contains(csp, want) {
			t.Errorf("the policy %q lacks %q", csp, want)
		}
	}
	if strings.Contains(csp, "*") || strings.Contains(csp, "ftp") {
		t.Errorf("the policy %q allows more than the nodes", csp)
	}
}

// Nodes with addresses of IPv6 are in the policy by their ports: browsers leave out what has brackets.
func TestPolicyOfAClusterOfIPv6(t *testing.T) {
	h := Handler(Options{Nodes: func() []string { return []string{"http://[2001:db8::1]:8080", "https://[2001:db8::2]"} }})
	csp := pageGet(t, h, "GET", "/").Header.Get("Content-Security-Policy")
	if want := "; connect-src 'self' http://*:8080 https://* ws://*:8080 wss://*; "; !strings.Contains(csp, want) {
		t.Errorf("the policy %q lacks %q", csp, want)
	}
}

// Every part of the page comes with it.
func TestNothingIsOutside(t *testing.T) {
	outside := regexp.MustCompile(`(?i)(?:https?:|wss?:)?//[a-z0-9-]+\.[a-z]{2,}[^\s"'` + "`" + `)>]*`)
	// Names of vocabularies, and an address that mpegts.js opens a request
	// for, without sending it, to ask an old browser what it can do.
	harmless := map[string]string{
		"http://www.w3.org/2000/svg":   "",
		"https://example.com":          "mpegts/mpegts.js",
		"https://aomedia.org/emsg/ID3": "hls/hls.light.min.js",
		"//i.test(ht":                  "hls/hls.light.min.js", // an expression
	}
	for name, a := range embedded {
		if strings.Contains(name, "LICENSE") || strings.HasSuffix(name, "README.md") {
			continue
		}
		for _, found := range outside.FindAllString(string(a.content), -1) {
			if where, ok := harmless[found]; !ok || where != "" && where != name {
				t.Errorf("%s refers to %s", name, found)
			}
		}
	}
	reference := regexp.MustCompile(`(?:src|href)="([^"]*)"|from "([^"]*)"`)
	found := 0
	for name, a := range embedded {
		if strings.HasPrefix(name, "mpegts/") || strings.HasPrefix(name, "hls/") {
			continue // not ours
		}
		for _, m := range reference.FindAllStringSubmatch(string(a.content), -1) {
			target := m[1] + m[2]
			found++
			switch target {
			case "/", "/operate", "/api/streams", "/api/clients", "/api/bans", "/api/pushes", "/api/events", "/metrics":
				continue
			}
			switch {
			case strings.HasPrefix(target, "."):
				target = path.Join(path.Dir(name), target)
			case strings.HasPrefix(target, "#"):
				if !strings.Contains(string(a.content), `id="`+target[1:]+`"`) {
					t.Errorf("%s refers to %s, which it does not have", name, target)
				}
				continue
			}
			target = strings.TrimPrefix(target, "/assets/")
			if embedded[target] == nil {
				t.Errorf("%s refers to %q, which is not there", name, m[0])
			}
		}
	}
	if found < 20 {
		t.Errorf("%d references were found: the test is broken", found)
	}
}

// Text of strangers must never be read as markup or as code.
func TestScriptsOnlySetText(t *testing.T) {
	for name, a := range embedded {
		if !strings.HasSuffix(name, ".js") || strings.HasPrefix(name, "mpegts/") || strings.HasPrefix(name, "hls/") {
			continue
		}
		for _, refused := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser", "createContextualFragment", "setHTML"} {
			if bytes.Contains(a.content, []byte(refused)) {
				t.Errorf("%s uses %s", name, refused)
			}
		}
	}
}

func TestPlayerComesWithItsLicence(t *testing.T) {
	readme := string(embedded["mpegts/README.md"].content)
	for _, want := range []string{"mpegts.js 1.8.2", "Apache License 2.0", "https://github.com/xqq/mpegts.js"} {
		if !strings.Contains(readme, want) {
			t.Errorf("mpegts/README.md does not say %q", want)
		}
	}
	if !bytes.Contains(embedded["mpegts/LICENSE"].content, []byte("Apache License")) || embedded["mpegts/mpegts.js.LICENSE.txt"] == nil {
		t.Error("the licence of mpegts.js is missing")
	}
	readme = string(embedded["hls/README.md"].content)
	if !strings.Contains(readme, "hls.js 1.7.4") || !strings.Contains(readme, "https://github.com/video-dev/hls.js") || !bytes.Contains(embedded["hls/LICENSE"].content, []byte("Apache License")) || !bytes.Contains(embedded["hls/hls.light.min.js"].content, []byte(`"1.7.4"`)) {
		t.Error("the licence of hls.js is missing, or its README names another version")
	}
	if !bytes.Contains(embedded["mpegts/mpegts.js"].content, []byte(`"1.8.2"`)) {
		t.Error("mpegts.js is not the version that its README names")
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want config
	}{
		{Options{}, config{}},
		{Options{RTMPAddr: "off", RTMPSAddr: "off"}, config{}},
		{
			Options{RTMPAddr: "[::]:1935", RTMPSAddr: "127.0.0.1:443", RTSPAddr: ":8554", SRTAddr: ":8890", SRTEncrypted: true, HLS: true, WebRTC: true, Merge: 80 * time.Millisecond, ProtectPublish: true, ProtectPlay: true},
			config{RTMPPort: 1935, RTMPSPort: 443, RTSPPort: 8554, SRTPort: 8890, SRTEncrypted: true, HLS: true, WebRTC: true, MergeMS: 80, ProtectPublish: true, ProtectPlay: true},
		},
		{Options{RTMPAddr: ":41935"}, config{RTMPPort: 41935}},
		{Options{Nodes: func() []string { return nil }}, config{Cluster: true}},
		{Options{Nodes: func() []string { return nil }, Others: func() []string { return []string{"http://b"} }}, config{Cluster: true, Others: []string{"http://b"}}},
	} {
		var got config
		body := pageBody(t, pageGet(t, Handler(c.o), "GET", "/assets/config.json"))
		if err := json.Unmarshal(body, &got); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %s, want %+v (%v)", c.o, body, c.want, err)
		}
	}
	for _, addr := range []string{":0", "1935", ":rtmp", ":70000", "localhost", ":-1"} {
		func() {
			defer func() {
				if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "page: ") || !strings.Contains(p, addr) {
					t.Errorf("address %q: panic %q", addr, p)
				}
			}()
			Handler(Options{RTMPAddr: addr})
		}()
	}
}
