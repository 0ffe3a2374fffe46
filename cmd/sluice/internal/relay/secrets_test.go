package relay

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/rtmp"
)

// Tokens and keys are in no line of the log, at any level and in whatever way a
// request is wrong.
func TestSecretsAreNotLogged(t *testing.T) {
	const secret = "hunter2hunter2"
	dead := loopback.Free(t)
	s := startRelay(t, func(c *relayConfig) {
		c.RTMP = "127.0.0.1:0"
		c.Protect, c.TokenSecret, c.APIToken = []string{"publish"}, "a secret that is long enough", secret
		c.Hook = "http://user:" + secret + "@" + dead + "/?key=" + secret
		c.Origin = []string{"rtmp://" + dead + "/live?token=" + secret}
		c.Takeover = config.TakeoverReplace
	})
	for _, request := range []string{
		"GET /live/s.flv?token=" + secret + " HTTP/1.1\nHost: a\n\n",
		"GET /live/s.flv?merge=" + "x&token=" + secret + " HTTP/1.1\nHost: a\n\n",
		"GET /live/s%3Ftoken=" + secret + ".flv HTTP/1.1\nHost: a\n\n",
		"GET /live/s.flv%3Ftoken=" + secret + " HTTP/1.1\nHost: a\n\n",
		"POST /live/s.flv?token=" + secret + " HTTP/1.1\nHost: a\nContent-Length: 100\n\n",
		"POST /live/s.flv?token=a." + secret + ".b HTTP/1.1\nHost: a\nContent-Length: 100\n\n",
		"GET /api/clients?token=" + secret + " HTTP/1.1\nHost: a\n\n",
		"GET /api/clients HTTP/1.1\nHost: a\nAuthorization: Bearer " + secret + "\n\n",
		"DELETE /api/clients/p1 HTTP/1.1\nHost: a\nAuthorization: Bearer x" + secret + "\n\n",
		"POST /api/bans?by=token&for=1m&value=a HTTP/1.1\nHost: a\nContent-Length: 0\nAuthorization: Bearer " + secret + "\n\n",
		"GET /" + strings.Repeat("x", 200) + "/s.flv?token=" + secret + " HTTP/1.1\nHost: a\n\n",
		"BAD /live/s.flv?token=" + secret + " HTTP/9.1\n\n",
	} {
		conn, r := s.raw(t, request)
		if resp, err := http.ReadResponse(r, nil); err == nil {
			text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
			if strings.Contains(string(text), secret) {
				t.Errorf("%q is answered by %s", request, text)
			}
		}
		conn.Close()
	}
	for _, name := range []string{"s?token=" + secret, "s?merge=x&token=" + secret, strings.Repeat("x", 300) + "?token=" + secret} {
		for _, publish := range []bool{false, true} {
			conn, err := net.Dial("tcp", s.Addresses()["rtmp"])
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(relayWait))
			x := rtmpClientOn(t, conn)
			if err := x.c.ClientHandshake(); err != nil {
				t.Fatal(err)
			}
			if err := x.c.Connect(rtmp.ConnectOptions{App: "live", TCURL: "rtmp://a/live?token=" + secret}); err != nil {
				t.Fatal(err)
			}
			if publish {
				err = x.c.Publish(name)
			} else {
				err = x.c.Play(name)
			}
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v", name, err)
			}
			x.close()
		}
	}
	s.Close()
	s.end(t)
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, secret) {
			t.Errorf("in the log: %s", line)
		}
	}
}
