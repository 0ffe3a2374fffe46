//go:build linux

package realtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
)

// nginxModules is where Debian has the modules of nginx.
const nginxModules = "/usr/lib/nginx/modules/"

// nginx starts nginx with a module, or none, and what stands in its main context, and waits
// until address takes connections.
func nginx(t *testing.T, module, config, address string) *process {
	t.Helper()
	dir := t.TempDir()
	load := ""
	if module != "" {
		if _, err := os.Stat(nginxModules + module); err != nil {
			t.Skipf("nginx has no such module (%v); scripts/ensure-tools.sh installs it", err)
		}
		load = "load_module " + nginxModules + module + ";\n"
	}
	file := filepath.Join(dir, "nginx.conf")
	text := load + "daemon off;\nmaster_process off;\nerror_log stderr;\npid " + dir + "/pid;\nevents {}\n" + config
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, tool(t, "nginx"), "-p", dir, "-c", file, "-e", "stderr")
	eventually(t, lengthened(10*time.Second), func() string {
		if p.ended() {
			t.Fatalf("nginx ended: %s", p.stderr.tail(10))
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err.Error()
		}
		conn.Close()
		return ""
	})
	return p
}

// httpProxy is nginx in front of HTTP, with more settings for its location.
func httpProxy(t *testing.T, to, settings string) (address string) {
	t.Helper()
	address = loopback.Free(t)
	dir := t.TempDir()
	nginx(t, "", fmt.Sprintf(`http {
	access_log off;
	client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
	server {
		listen %[2]s;
		location / {
			proxy_pass http://%[3]s;
			proxy_buffering off;
			%[4]s
		}
	}
}
`, dir, address, to, settings), address)
	return address
}

// from asks a path of address from a local address.
func from(t *testing.T, ip, method, url string, header http.Header) (int, string) {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, Timeout: eventTimeout}
	client := &http.Client{Timeout: lengthened(10 * time.Second), Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}}
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
	return resp.StatusCode, string(text)
}

// Behind a plain proxy every request comes from this machine: the API token is
// required all the same.
func TestTokenIsAskedBehindAPlainProxy(t *testing.T) {
	t.Parallel()
	s := serve(t, options{})
	proxy := httpProxy(t, s.HTTP, "")
	bearer := http.Header{"Authorization": {"Bearer " + apiToken}}
	for _, address := range []string{s.HTTP, proxy} {
		for _, c := range []struct {
			method, path string
			with         int
		}{{"GET", "/api/clients", 200}, {"GET", "/api/streams", 200}, {"GET", "/metrics", 200}, {"DELETE", "/api/clients/v9", 404}} {
			if status, text := from(t, "127.0.0.1", c.method, "http://"+address+c.path, http.Header{}); status != http.StatusUnauthorized {
				t.Errorf("%s %s at %s without the token: %d %s", c.method, c.path, address, status, text)
			}
			if status, text := from(t, "127.0.0.1", c.method, "http://"+address+c.path, bearer); status != c.with {
				t.Errorf("%s %s at %s with the token: %d %s", c.method, c.path, address, status, text)
			}
		}
	}
}

// What a trusted proxy says of the client holds in logs, limits, allow lists and
// for the hook; what the client itself says does not.
func TestTrueAddressBehindAProxy(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- string(body)
	}))
	t.Cleanup(hook.Close)
	// nginx reaches the server from 127.0.0.1, clients reach nginx from others.
	s := serve(t, options{flags: []string{"--trusted-proxies", "127.0.0.1", "--allow-play", "127.0.0.7,127.0.0.8", "--max-viewers-per-address", "1", "--hook", hook.URL}})
	tells := httpProxy(t, s.HTTP, "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;")
	f := feedTo(t, publishHTTP(t, http.MethodPost, "http://"+s.HTTP+"/live/s.flv"), pace{})
	s.awaitLive(t, "live/s")

	lie := http.Header{"X-Forwarded-For": {"127.0.0.7"}}
	if status, text := from(t, "127.0.0.9", "HEAD", "http://"+tells+"/live/s.flv", lie); status != 403 {
		t.Errorf("127.0.0.9, which says that it is 127.0.0.7: %d %s", status, text)
	}
	if status, text := from(t, "127.0.0.9", "HEAD", "http://"+s.HTTP+"/live/s.flv", lie); status != 403 {
		t.Errorf("the same past the proxy: %d %s", status, text)
	}
	if status, text := from(t, "127.0.0.9", "HEAD", "http://"+tells+"/live/s.flv", http.Header{"Forwarded": {"for=127.0.0.7"}}); status != 400 {
		t.Errorf("the same in a field that the proxy does not know: %d %s", status, text)
	}
	if status, text := from(t, "127.0.0.7", "HEAD", "http://"+tells+"/live/s.flv", http.Header{}); status != 200 {
		t.Errorf("127.0.0.7: %d %s", status, text)
	}
	for found := false; !found; {
		text := receive(t, lengthened(5*time.Second), "a question to the hook", asked)
		found = strings.Contains(text, `"address":"127.0.0.7"`)
	}
	// One viewer for each address, not for the proxy's.
	play := func(ip string) (*http.Response, error) {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}}
		return client.Get("http://" + tells + "/live/s.flv")
	}
	for _, c := range []struct {
		ip     string
		status int
	}{{"127.0.0.7", 200}, {"127.0.0.8", 200}, {"127.0.0.7", 503}} {
		resp, err := play(c.ip)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", c.ip, resp.Status, c.status)
		}
	}
	eventually(t, lengthened(5*time.Second), func() string {
		seen := ""
		for _, c := range s.clients(t) {
			seen += c.Role + " " + c.Address + ";"
		}
		if !strings.Contains(seen, "viewer 127.0.0.7;") || !strings.Contains(seen, "viewer 127.0.0.8;") {
			return "the API has " + seen
		}
		return ""
	})
	eventually(t, lengthened(5*time.Second), func() string { // what the API has may be still on its way to the log
		if len(s.stderr.matches("viewer started.*address=127.0.0.8 ")) != 1 {
			return "the log does not have the true address"
		}
		return ""
	})
	f.stop()
}

// nginx sends the PROXY protocol to both listeners: ffmpeg plays through it from
// another address, and that is the one that is known.
func TestPROXYProtocol(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--trusted-proxies 127.0.0.1 --proxy-protocol rtmp,http --allow-publish 127.0.0.6"))
	rtmp, web := loopback.Free(t), loopback.Free(t)
	nginx(t, "ngx_stream_module.so", fmt.Sprintf(`stream {
	proxy_protocol on;
	server { listen %s; proxy_pass %s; }
	server { listen %s; proxy_pass %s; }
}
`, rtmp, s.RTMP, web, s.HTTP), web)
	through := *s
	through.HTTP, through.RTMP = web, rtmp

	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 6)}}
	conn, err := dialer.Dial("tcp", rtmp)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(eventTimeout))
	p, err := publishRTMP(conn, "live", "s")
	if err != nil {
		t.Fatalf("from an address that may: %v", err)
	}
	f := feedTo(t, p, pace{})
	through.awaitLive(t, "live/s")
	if info := through.stream(t, "live/s"); !strings.HasPrefix(info.Publisher.Address, "127.0.0.6:") {
		t.Errorf("the publisher's address is %s", info.Publisher.Address)
	}
	if _, err := publishRTMP(dial(t, rtmp, false), "live", "other"); err == nil {
		t.Error("127.0.0.1 may publish through the proxy")
	}
	for _, way := range []string{"rtmp", "flv", "ws"} {
		v := through.view(t, way, "s", "")
		v.awaitMedia(t, 20)
		checkRun(t, v.name, v.media(), f.published())
	}
	f.stop()
	// Past the proxy there is no header, and so no session.
	direct := dial(t, s.HTTP, false)
	io.WriteString(direct, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
	if text, _ := io.ReadAll(direct); strings.Contains(string(text), "200 OK") {
		t.Errorf("without a PROXY header: %q", text)
	}
}
