package relay

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// A proxy that does not send the header that proxy-protocol asks for makes every client fail: the log
// says so, without a line for each of them.
func TestAProxyWithoutItsHeaderIsLogged(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) {
		c.TrustedProxies, c.ProxyProtocol = []string{"127.0.0.0/8"}, []string{"http"}
	})
	for _, says := range []string{"GET /healthz HTTP/1.0\r\n\r\n", "", "GET /healthz HTTP/1.0\r\n\r\n"} {
		conn, err := net.Dial("tcp", s.http)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(rtmpTimeout))
		if _, err := io.WriteString(conn, says); err != nil {
			t.Fatal(err)
		}
		conn.(*net.TCPConn).CloseWrite()
		_, _ = io.ReadAll(conn) // until it is closed
		conn.Close()
	}
	const text = "does not begin as proxy-protocol says"
	s.log.line(t, "level=WARN", text, "listener=http", "proxy=127.0.0.1:", "GET /healthz")
	if n := strings.Count(s.log.String(), text); n != 1 {
		t.Errorf("%d lines", n)
	}
}

// A command gets the addresses at which it is let in: not that of a listener that takes it for a proxy.
func TestCommandsGetAddressesThatTakeThem(t *testing.T) {
	at := map[string]string{"rtmp": "[::]:1935", "http": "127.0.0.1:8080"}
	for _, c := range []struct {
		protocols, proxies []string
		at                 map[string]string
		want               []string
	}{
		{nil, []string{"127.0.0.1"}, at, []string{"SLUICE_HTTP=http://127.0.0.1:8080", "SLUICE_RTMP=rtmp://127.0.0.1:1935", "SLUICE_URL=rtmp://127.0.0.1:1935/live/s"}},
		{[]string{"rtmp"}, []string{"192.0.2.1"}, at, []string{"SLUICE_RTMP=rtmp://127.0.0.1:1935", "SLUICE_URL=rtmp://127.0.0.1:1935/live/s"}},
		{[]string{"rtmp"}, []string{"127.0.0.0/8"}, at, []string{"SLUICE_HTTP=http://127.0.0.1:8080", "SLUICE_RTMP=", "SLUICE_URL=http://127.0.0.1:8080/live/s.flv"}},
		{[]string{"rtmp", "http"}, []string{"::ffff:127.0.0.1"}, at, []string{"SLUICE_HTTP=", "SLUICE_RTMP=", "SLUICE_URL="}},
		{nil, nil, map[string]string{"rtsp": "[::]:8554", "https": ":443"}, []string{"SLUICE_HTTP=", "SLUICE_RTMP=", "SLUICE_URL=rtsp://127.0.0.1:8554/live/s"}},
		{nil, nil, map[string]string{"https": "0.0.0.0:443"}, []string{"SLUICE_HTTP=", "SLUICE_RTMP=", "SLUICE_URL=https://127.0.0.1:443/live/s.flv"}},
		{nil, nil, map[string]string{"http": "127.0.0.1:8080"}, []string{"SLUICE_RTMP=", "SLUICE_URL=http://127.0.0.1:8080/live/s.flv"}},
	} {
		settings := config.Default()
		settings.OnPublish, settings.ProxyProtocol, settings.TrustedProxies = "ffmpeg", c.protocols, c.proxies
		env := commandFor("live/s", &settings, c.at).Env
		for _, want := range c.want {
			if !slices.Contains(env, want) {
				t.Errorf("proxy-protocol %v from %v: no %q in %q", c.protocols, c.proxies, want, env)
			}
		}
	}
}
