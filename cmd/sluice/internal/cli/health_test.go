package cli

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/internal/loopback"
)

func TestHealth(t *testing.T) {
	status := http.StatusOK
	h := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(status)
		_, _ = rw.Write([]byte("as it is\n"))
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer plain.Close()
	defer secure.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(plain.URL, "http://"))
	for _, status = range []int{200, 503} {
		want := map[int]int{200: ExitOK, 503: ExitFailure}[status]
		if code, out, text := called(t, "health", "--http", ":"+port); code != want || !strings.Contains(out+text, "as it is") {
			t.Errorf("http, %d: %d %s%s", status, code, out, text)
		}
		c := config.Default()
		c.HTTP, c.HTTPS = "off", strings.TrimPrefix(secure.URL, "https://")
		if says, err := askHealth(t.Context(), c); (err == nil) != (status == 200) {
			t.Errorf("https, %d: %s %v", status, says, err)
		}
	}
	l, err := net.Listen("tcp", loopback.Host()+":0")
	if err != nil {
		t.Fatal(err)
	}
	rtmp := []string{"health", "--http", "off", "--rtmp", l.Addr().String()}
	if code, out, text := called(t, rtmp...); code != ExitOK {
		t.Errorf("rtmp: %d %s%s", code, out, text)
	}
	l.Close()
	if code, _, text := called(t, rtmp...); code != ExitFailure || !strings.Contains(text, "refused") {
		t.Errorf("nothing listens: %d %s", code, text)
	}
	if code, _, _ := called(t, "health", "now"); code != ExitUsage {
		t.Errorf("an argument: %d", code)
	}
}

// A listener that has no IPv4, as on a machine without it, is asked over IPv6; and an address with a zone is one.
func TestHealthOverIPv6(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("ok\n")) }))
	h.Listener.Close()
	h.Listener = l
	h.Start()
	defer h.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if code, out, text := called(t, "health", "--http", ":"+port); code != ExitOK || out != "ok\n" {
		t.Errorf("%d %s%s", code, out, text)
	}
	if code, out, text := called(t, "health", "--http", "off", "--rtmp", "[::]:"+port); code != ExitOK {
		t.Errorf("rtmp: %d %s%s", code, out, text)
	}
	if code, _, text := called(t, "health", "--http", "[fe80::1%nowhere]:"+port); code != ExitFailure || strings.Contains(text, "invalid URL") {
		t.Errorf("a zone: %d %s", code, text)
	}
}

// In a container the check is one line for all, and the server's flags stand in its own.
func TestHealthTakesTheFlagsOfProcess1(t *testing.T) {
	for name, c := range map[string]struct {
		first, line string
		want        int
	}{
		"serve":           {"self", "/sluice\x00serve\x00--json\x00--http\x00:9000\x00", 3},
		"another command": {"self", "/sluice\x00doctor\x00--json\x00", 0},
		"alone":           {"self", "/sluice\x00", 0},
		"another program": {"1", "/sbin/init\x00serve\x00--x\x00", 0},
	} {
		proc := t.TempDir()
		for _, file := range []string{"self/exe", "1/exe", "1/cmdline"} {
			if err := os.MkdirAll(filepath.Join(proc, filepath.Dir(file)), 0o700); err != nil {
				t.Fatal(err)
			}
			if file == "1/exe" && c.first == "self" {
				if err := os.Link(filepath.Join(proc, "self/exe"), filepath.Join(proc, file)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := os.WriteFile(filepath.Join(proc, file), []byte(c.line), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := flagsOfProcess1(proc); len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A listener that wants the PROXY protocol from this machine gets it, or a container with a proxy of
// its own would never be well.
func TestHealthBehindAProxyOfThisMachine(t *testing.T) {
	for _, c := range []struct{ protocols, proxies string }{{"http", "127.0.0.0/8"}, {"http", "192.0.2.1"}, {"rtmp", "127.0.0.1"}} {
		s := startServe(t, nil, "--json", "--http", "127.0.0.1:0", "--proxy-protocol", c.protocols, "--trusted-proxies", c.proxies)
		at := s.ready(t).HTTP
		if code, out, text := called(t, "health", "--http", at, "--proxy-protocol", c.protocols, "--trusted-proxies", c.proxies); code != ExitOK {
			t.Errorf("%s from %s: %d %s%s", c.protocols, c.proxies, code, out, text)
		}
		s.end(t, syscall.SIGTERM)
	}
}

// A server of SRT alone is asked over SRT.
func TestHealthOverSRT(t *testing.T) {
	off := []string{"--rtmp", "off", "--http", "off", "--rtsp", "off", "--webrtc", "off"}
	s := startServe(t, nil, append(off, "--json")...)
	flags := append(off, "--srt", s.ready(t).SRT)
	if code, out, text := called(t, append([]string{"health"}, flags...)...); code != ExitOK {
		t.Errorf("it serves: %d %s%s", code, out, text)
	}
	s.end(t, syscall.SIGTERM)
	if code, _, text := called(t, append([]string{"health"}, flags...)...); code != ExitFailure {
		t.Errorf("it has ended: %d %s", code, text)
	}
	other, err := net.ListenPacket("udp", loopback.Host()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		var p [1500]byte
		if _, from, err := other.ReadFrom(p[:]); err == nil {
			_, _ = other.WriteTo([]byte("what?"), from)
		}
	}()
	if _, err := askSRT(t.Context(), other.LocalAddr().String()); err == nil || !strings.Contains(err.Error(), "does not speak SRT") {
		t.Errorf("another protocol: %v", err)
	}
}
