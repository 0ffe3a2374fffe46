//go:build linux

package realtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testcert"
)

// deployed returns an example of the directory deploy, with other words in the place of
// some, each of which it must have.
func deployed(t *testing.T, name string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("%s has no %q", name, replace[i])
		}
	}
	return strings.NewReplacer(replace...).Replace(string(text))
}

// behind publishes and plays through a proxy with TLS in front of s: the relay sees the
// clients' addresses.
func behind(t *testing.T, s *server, https, rtmps string) {
	t.Helper()
	through := &server{HTTPS: https, RTMPS: rtmps}
	conn := dial(t, rtmps, true)
	publisher, err := publishRTMP(conn, "live", "s")
	if err != nil {
		t.Fatal(err)
	}
	f := feedTo(t, publisher, pace{})
	s.awaitLive(t, "live/s")
	viewers := []*viewer{through.view(t, "wss", "s", ""), through.view(t, "flvs", "s", ""), through.view(t, "rtmps", "s", "")}
	for _, v := range viewers {
		v.awaitMedia(t, 50)
	}
	seen := map[string]string{}
	for _, c := range s.clients(t) {
		seen[c.Role+" "+c.Protocol] = c.Address
	}
	if got := seen["publisher rtmp"]; got != conn.LocalAddr().String() {
		t.Errorf("the publisher comes from %s, the relay sees %s", conn.LocalAddr(), got)
	}
	for _, kind := range []string{"viewer flv", "viewer ws", "viewer rtmp"} {
		if host, _, err := net.SplitHostPort(seen[kind]); seen[kind] != "127.0.0.1" && (err != nil || host != "127.0.0.1") {
			t.Errorf("%s: %q of %v", kind, seen[kind], seen)
		}
	}
	// A page of this server, whatever its port.
	socket := dial(t, https, true)
	fmt.Fprintf(socket, "GET /live/s.flv HTTP/1.1\r\nHost: %[1]s\r\nOrigin: https://%[1]s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", https)
	if resp, err := http.ReadResponse(bufio.NewReader(socket), nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("the page's WebSocket: %v, %v", resp, err)
	}
	f.stop()
	for _, v := range viewers {
		checkRun(t, v.name, v.media(), f.published())
	}
}

// The example for nginx does what it says.
func TestNginxExample(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--trusted-proxies 127.0.0.1 --proxy-protocol rtmp"))
	cert, key := testcert.Files(t)
	https, rtmps, dir := loopback.Free(t), loopback.Free(t), t.TempDir()
	config := deployed(t, "nginx.conf", "/etc/sluice/cert.pem", cert, "/etc/sluice/key.pem", key, "127.0.0.1:8080;", s.HTTP+";", "127.0.0.1:1935;", s.RTMP+";",
		"listen 443", "listen "+https, "listen 1936", "listen "+rtmps,
		"http {\n", fmt.Sprintf("http {\naccess_log off;\nclient_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;\n", dir))
	nginx(t, "ngx_stream_module.so", config, https)
	behind(t, s, https, rtmps)
}

// The example for HAProxy does what it says.
func TestHAProxyExample(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--trusted-proxies 127.0.0.1 --proxy-protocol rtmp"))
	cert, key := testcert.Files(t)
	dir := t.TempDir()
	both := ""
	for _, name := range []string{cert, key} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		both += string(text)
	}
	if err := os.WriteFile(filepath.Join(dir, "both.pem"), []byte(both), 0o600); err != nil {
		t.Fatal(err)
	}
	https, rtmps := loopback.Free(t), loopback.Free(t)
	config := deployed(t, "haproxy.cfg", "/etc/sluice/both.pem", dir+"/both.pem", "127.0.0.1:8080", s.HTTP, "127.0.0.1:1935", s.RTMP, "bind :443", "bind "+https, "bind :1936", "bind "+rtmps)
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, tool(t, "haproxy"), "-db", "-f", file)
	eventually(t, lengthened(10*time.Second), func() string {
		if p.ended() {
			t.Fatalf("haproxy ended: %s", p.stderr.tail(10))
		}
		conn, err := net.Dial("tcp", https)
		if err != nil {
			return err.Error()
		}
		conn.Close()
		return ""
	})
	behind(t, s, https, rtmps)
}

// A server that is given its sockets serves those who came before it was there, says
// that it is ready, and leaves the sockets to the next.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	var files []*os.File
	var at []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		defer f.Close()
		files, at = append(files, f), append(at, l.Addr().String())
	}
	name := filepath.Join(t.TempDir(), "notify")
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	for range 2 {
		early := dial(t, at[1], false)
		if _, err := io.WriteString(early, "GET /healthz HTTP/1.0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		p := &process{done: make(chan struct{})}
		_, port, _ := net.SplitHostPort(at[0])
		// The rtmp socket is known by its port, that of HTTP by its name.
		p.cmd = exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" serve --json --http 127.0.0.1:1 --rtsp off --webrtc off --srt off --rtmp "127.0.0.1:$1"`, sluice(t), port)
		p.cmd.Env = append(os.Environ(), "LISTEN_FDS=2", "LISTEN_FDNAMES=sluice.socket:http", "NOTIFY_SOCKET="+name)
		p.cmd.ExtraFiles = files
		p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			p.err = p.cmd.Wait()
			close(p.done)
		}()
		t.Cleanup(p.kill)
		for _, want := range []string{"READY=1", "STOPPING=1"} {
			b := make([]byte, 100)
			if err := notify.SetReadDeadline(time.Now().Add(lengthened(15 * time.Second))); err != nil {
				t.Fatal(err)
			}
			if n, err := notify.Read(b); err != nil || string(b[:n]) != want {
				t.Fatalf("%q, %v, want %s: %s", b[:n], err, want, p.stderr.tail(10))
			}
			if want == "STOPPING=1" {
				break
			}
			eventually(t, lengthened(10*time.Second), func() string {
				if !strings.HasSuffix(p.stdout.String(), "\n") {
					return "no line with the addresses"
				}
				return ""
			})
			var ready server
			if err := json.Unmarshal([]byte(p.stdout.String()), &ready); err != nil || ready.RTMP != at[0] || ready.HTTP != at[1] {
				t.Errorf("%v: it listens at %s, want %q", err, p.stdout.String(), at)
			}
			if text, err := io.ReadAll(early); err != nil || !strings.Contains(string(text), "200 OK") {
				t.Errorf("who came before: %q %v", text, err)
			}
			if _, err := publishRTMP(dial(t, ready.RTMP, false), "live", "s"); err != nil {
				t.Error(err)
			}
			p.signal(t, syscall.SIGTERM)
		}
		if code := p.wait(t, lengthened(15*time.Second)); code != 0 {
			t.Errorf("exit code %d: %s", code, p.stderr.tail(10))
		}
	}
}

// systemd accepts the units, and finds the service well enclosed.
func TestUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd here")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sluice.service.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"sluice.service": deployed(t, "sluice.service", "/usr/bin/sluice", sluice(t)), "sluice.socket": deployed(t, "sluice.socket"),
		"sluice.service.d/cluster.conf": deployed(t, "sluice-cluster.conf"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"verify", filepath.Join(dir, "sluice.service"), filepath.Join(dir, "sluice.socket")},
		{"security", "--offline=true", "--threshold=20", "--no-pager", filepath.Join(dir, "sluice.service")},
	} {
		p := start(t, nil, analyze, args...)
		if code := p.wait(t, lengthened(20*time.Second)); code != 0 || args[0] == "verify" && p.stderr.String() != "" {
			t.Errorf("systemd-analyze %q: exit code %d: %s%s", args, code, p.stdout.tail(3), p.stderr.tail(10))
		}
	}
}

// The unit allows the sockets that the relay opens: also those by which it learns the
// machine's addresses, which are in the answer to an offer.
func TestUnitAllowsTheSocketsInUse(t *testing.T) {
	t.Parallel()
	_, families, _ := strings.Cut(deployed(t, "sluice.service"), "\nRestrictAddressFamilies=")
	families, _, _ = strings.Cut(families, "\n")
	trace := filepath.Join(t.TempDir(), "trace")
	s := serve(t, options{under: []string{tool(t, "strace"), "-D", "-f", "-qq", "-e", "trace=socket", "-o", trace}})
	offer, err := os.ReadFile("../webrtc/testdata/offer.sdp")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post("http://"+s.HTTP+"/live/s/whip", "application/sdp", strings.NewReader(strings.ReplaceAll(string(offer), "a=recvonly", "a=sendonly")))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		t.Fatalf("the offer is answered with %s", answer.Status)
	}
	calls, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(calls)) {
		if _, family, ok := strings.Cut(line, " socket("); ok {
			family, _, _ = strings.Cut(family, ",")
			seen[family] = true
		}
	}
	if !seen["AF_INET"] {
		t.Fatalf("no call was seen: %.1000s", calls)
	}
	for family := range seen {
		if !slices.Contains(strings.Fields(families), family) {
			t.Errorf("the relay opens sockets of %s, the unit allows %s", family, families)
		}
	}
}
