package relay

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/rtmp"
)

// Whatever clients do, and however their sessions fail, everything that was
// counted for them is given back when they have left.
func TestCountersAreBalanced(t *testing.T) { balanced(t, nil) }

// balanced runs a random history on a server, which may be changed before.
func balanced(t *testing.T, change func(*relayConfig)) *Server {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := rtmpServe(t, func(c *relayConfig) {
		c.MaxStreams, c.MaxStreamsPerAddress, c.MaxViewers, c.MaxViewersPerAddress = 2, 1, 2, 1
		c.MaxHandshakes, c.MaxHandshakesPerAddress = 6, 3
		c.Takeover, c.APIToken = config.TakeoverReplace, "0123456789"
		c.times.Silence, c.times.Rate = 300*time.Millisecond, 300*time.Millisecond
		if change != nil {
			change(c)
		}
	})
	api := &relayServer{Server: s, http: s.Addresses()["http"]}
	// On a busy machine connections may be over before anything has begun: then there are
	// more, with more time.
	var clients sync.WaitGroup
	for n := range 6 {
		clients.Go(func() {
			c := client{t: t, s: s, random: rand.New(rand.NewPCG(seed, uint64(n))), most: 150 * time.Millisecond}
			for range 8 {
				for range 25 {
					c.live()
				}
				if refusals(s) >= 10 && endings(s) >= 10 {
					return
				}
				c.most *= 2
			}
		})
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		clients.Wait()
	}()
	for going := true; going; { // meanwhile sessions are kicked
		select {
		case <-over:
			going = false
		case <-time.After(20 * time.Millisecond):
			for _, c := range s.host.Register.List() {
				if rand.N(4) == 0 {
					api.do(t, "DELETE", "/api/clients/"+c.ID, http.Header{"Authorization": {"Bearer 0123456789"}})
				}
			}
		}
	}
	rtmpUntil(t, "every counter is zero", func() bool {
		r, w := s.rtmp.Arrivals.Stats(), s.web.Arrivals.Stats()
		return s.host.Gate.Usage() == access.Usage{} && len(s.host.Register.List()) == 0 && r.On+r.Waiting+w.On+w.Waiting == 0
	})
	if refusals(s) < 10 || endings(s) < 10 {
		t.Errorf("%d sessions were refused and %d ended: the history shows nothing", refusals(s), endings(s))
	}
	totals := s.host.Register.Totals()
	t.Logf("refused %v, ended %v", totals.Refused, totals.Ended)
	return s
}

// refusals is how many sessions a server has refused.
func refusals(s *Server) (n int) {
	for _, of := range s.host.Register.Totals().Refused {
		n += int(of)
	}
	return n
}

// endings is how many sessions of a server have ended.
func endings(s *Server) (n int) {
	for _, of := range s.host.Register.Totals().Ended {
		n += int(of)
	}
	return n
}

// client is one that behaves at random.
type client struct {
	t      *testing.T
	s      *Server
	random *rand.Rand
	most   time.Duration // that a connection lasts
}

func (c *client) live() {
	ip := fmt.Sprintf("127.0.0.%d", 2+c.random.IntN(3))
	stream := []string{"a", "b", "c", "d"}[c.random.IntN(4)]
	query := []string{"", "?merge=0", "?merge=9999", "?wait=0.05", "?gop=0"}[c.random.IntN(5)]
	listener := []string{"rtmp", "http"}[c.random.IntN(2)]
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).Dial("tcp", c.s.Addresses()[listener])
	if err != nil {
		return // the server is busy closing others
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Duration(c.random.Int64N(int64(c.most)))))
	if c.random.IntN(10) == 0 {
		io.Copy(io.Discard, conn) // says nothing
		return
	}
	if listener == "rtmp" {
		c.rtmp(conn, stream, query)
		return
	}
	c.http(conn, stream, query)
}

// rtmp publishes or plays until the deadline; the clip ends before it at times.
func (c *client) rtmp(conn net.Conn, stream, query string) {
	x := rtmpClientOn(c.t, conn)
	defer x.close()
	if x.c.ClientHandshake() != nil || c.random.IntN(8) == 0 || x.c.Connect(rtmp.ConnectOptions{App: "live"}) != nil {
		return
	}
	if c.random.IntN(2) == 0 {
		if x.c.Play(stream+query) == nil {
			_, _, _ = x.receive(1 << 20)
		}
		return
	}
	if x.c.Publish(stream+query) == nil && x.send(rtmpClip()[:20+c.random.IntN(60)]) == nil && c.random.IntN(2) == 0 {
		_, _, _ = x.receive(1) // stays, and is ended for its silence or kicked
	}
}

// http makes one of many requests, most of them wrong in some way.
func (c *client) http(conn net.Conn, stream, query string) {
	path := "/live/" + stream + ".flv" + query
	const upgrade = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\nSec-WebSocket-Version: "
	clip := string(flvtest.Header)
	for _, tag := range flvtest.Clip(c.t)[:20] {
		clip = string(tag.Append([]byte(clip)))
	}
	requests := []string{
		"GET " + path + " HTTP/1.1\nHost: a\n\n",
		"GET " + path + " HTTP/1.0\n\n",
		"HEAD " + path + " HTTP/1.1\nHost: a\n\n",
		"GET " + path + " HTTP/1.1\nHost: a\n" + upgrade + "13\n\n",
		"GET " + path + " HTTP/1.1\nHost: a\n" + upgrade + "7\n\n",
		"GET " + path + " HTTP/1.1\nHost: a\nOrigin: http://b\n" + upgrade + "13\n\n",
		"GET /live/.x.flv HTTP/1.1\nHost: a\n\n",
		"POST " + path + " HTTP/1.1\nHost: a\nContent-Length: 500\n\ngarbage that is not FLV",
		"POST " + path + " HTTP/1.1\nHost: a\nContent-Encoding: gzip\nContent-Length: 500\n\n",
		"POST " + path + " HTTP/1.1\nHost: a\n\n",
		"POST " + path + " HTTP/1.1\nHost: a\nOrigin: http://b\nContent-Length: 500\n\n",
		"PUT " + path + " HTTP/1.1\nHost: a\nExpect: 100-continue\nTransfer-Encoding: chunked\n\nzz\n",
		"POST " + path + " HTTP/1.1\nHost: a\nContent-Length: " + fmt.Sprint(len(clip)) + "\n\n",
		"GET " + path + " HTTP/1.1\nHost: a\n",
	}
	n := c.random.IntN(len(requests))
	text := strings.ReplaceAll(requests[n], "\n", "\r\n")
	if strings.HasSuffix(requests[n], fmt.Sprint(len(clip))+"\n\n") {
		text += clip[:len(clip)-c.random.IntN(2)*len(clip)/2]
	}
	if _, err := io.WriteString(conn, text); err == nil {
		io.Copy(io.Discard, conn)
	}
}
