package relay

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/rtmp"
)

// rtmpFrom is a client on a connection from a local address.
func rtmpFrom(t *testing.T, s *Server, ip string) *rtmpClient {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).Dial("tcp", s.Addresses()["rtmp"])
	if err != nil {
		t.Skipf("no second address on the loopback interface: %v", err)
	}
	x := rtmpClientOn(t, conn)
	if err := x.c.ClientHandshake(); err != nil {
		t.Fatal(err)
	}
	if err := x.c.Connect(rtmp.ConnectOptions{App: "live"}); err != nil {
		t.Fatal(err)
	}
	return x
}

// A publisher whose line was lost without a word takes its stream over from itself at once,
// before the time limit of the lost one, and a viewer stays; strangers are refused meanwhile.
func TestPublisherThatLostItsLineComesBackAtOnce(t *testing.T) {
	const secret = "a secret that is long enough"
	until := time.Now().Add(time.Hour)
	mine := "token=" + access.SignID([]byte(secret), access.Publish, "live/s", "mine", until)
	other := "token=" + access.SignID([]byte(secret), access.Publish, "live/s", "other", until)
	type peer struct{ ip, query string }
	for _, c := range []struct {
		name      string
		protect   []string
		who       peer
		again     peer
		strangers []peer
	}{
		{"by address and key", nil, peer{"127.0.0.2", "key=a"}, peer{"127.0.0.2", "key=a"},
			[]peer{{"127.0.0.1", "key=a"}, {"127.0.0.2", "key=b"}, {"127.0.0.2", ""}}},
		{"by token, wherever it is", []string{"publish"}, peer{"127.0.0.2", mine}, peer{"127.0.0.3", mine},
			[]peer{{"127.0.0.2", other}, {"127.0.0.2", ""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rtmpServe(t, func(config *relayConfig) {
				config.Protect, config.TokenSecret = c.protect, secret
				config.Grace = time.Minute
				config.times.Silence, config.times.Rate = 10*relayWait, 10*relayWait // nothing else ends the lost one
			})
			clip := rtmpClip()
			lost := rtmpFrom(t, s, c.who.ip) // and its connection stays open
			if err := lost.c.Publish("s?" + c.who.query); err != nil {
				t.Fatal(err)
			}
			if err := lost.send(clip[:20]); err != nil {
				t.Fatal(err)
			}
			v := rtmpDial(t, s, "rtmp", "live")
			if err := v.c.Play("s"); err != nil {
				t.Fatal(err)
			}
			rtmpUntil(t, "the viewer is there", func() bool { return rtmpViewers(s, "live/s") == 1 })
			for _, stranger := range c.strangers {
				x := rtmpFrom(t, s, stranger.ip)
				if code := rtmpRefusal(x.c.Publish("s?" + stranger.query)); !strings.HasPrefix(code, "NetStream.Publish.") {
					t.Errorf("a stranger, %+v: %s", stranger, code)
				}
			}
			back := rtmpFrom(t, s, c.again.ip)
			if err := back.c.Publish("s?" + c.again.query); err != nil {
				t.Fatalf("it comes back: %v", err)
			}
			if err := back.send(clip[:20]); err != nil {
				t.Error(err)
			}
			if n := rtmpViewers(s, "live/s"); n != 1 {
				t.Errorf("%d viewers", n)
			}
			v.close()
		})
	}
}

// Publishers whose addresses no one knows are not the same one: neither takes over from the
// other with the same key.
func TestUnknownAddressesAreNoIdentity(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.TrustedProxies = []string{"127.0.0.1"} })
	post := func() (net.Conn, *bufio.Reader) {
		return s.raw(t, "POST /live/s.flv?key=a HTTP/1.1\nHost: localhost\nX-Forwarded-For: unknown\nContent-Length: 1000\n\n")
	}
	post()
	relayEventually(t, "the first publishes", func() bool { return len(s.host.Register.List()) == 1 })
	_, answer := post()
	resp, err := http.ReadResponse(answer, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusConflict {
		t.Errorf("the second: %s", resp.Status)
	}
}
