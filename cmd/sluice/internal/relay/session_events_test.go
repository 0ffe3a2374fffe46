package relay

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hls"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A departure is how a client leaves. Without done it asks no more, and its session is
// over after some time.
type departure struct {
	done func() // the client says that it leaves
	gone func() // its connection breaks
}

// A sessionKind begins sessions of one protocol.
type sessionKind struct {
	protocol string
	role     session.Role
	slow     bool // it takes its time to begin, and what breaks is noticed after seconds
	begin    func(t *testing.T, s *relayServer, stream, token string) departure
}

// rtmpDeparture is that of a client by RTMP.
func rtmpDeparture(x *rtmpClient) departure {
	return departure{done: func() {
		x.c.Close()
		x.conn.(*net.TCPConn).CloseWrite()
	}, gone: broken(x.conn)}
}

// broken resets a connection.
func broken(conn net.Conn) func() {
	return func() {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

var sessionKinds = []sessionKind{
	{session.FLV, session.RolePublisher, false, func(t *testing.T, s *relayServer, stream, token string) departure {
		conn, _ := s.raw(t, "POST /"+stream+".flv?token="+token+" HTTP/1.1\nHost: a\nUser-Agent: test/1\nTransfer-Encoding: chunked\n\n")
		body := slices.Clone(flvtest.Header)
		for _, g := range flvtest.Clip(t)[:40] {
			body = g.Append(body)
		}
		fmt.Fprintf(conn, "%x\r\n%s\r\n", len(body), body)
		reading(t, conn, conn)
		return departure{done: func() { fmt.Fprint(conn, "0\r\n\r\n") }, gone: func() {
			fmt.Fprint(conn, "1000\r\n\x09\x00\x10\x00") // a part of a tag
			broken(conn)()
		}}
	}},
	{session.RTMP, session.RolePublisher, false, func(t *testing.T, s *relayServer, stream, token string) departure {
		app, name, _ := strings.Cut(stream, "/")
		x := rtmpPush(t, s.Server, "rtmp", app, name+"?token="+token)
		if err := x.send(rtmpClip()[:40]); err != nil {
			t.Fatal(err)
		}
		reading(t, x.conn, x.conn)
		return rtmpDeparture(x)
	}},
	{session.RTSP, session.RolePublisher, false, func(t *testing.T, s *relayServer, stream, token string) departure {
		x := rtspDial(t, s.Server)
		x.auth = rtspBasic(token)
		x.record(stream)(40)
		return departure{done: func() { x.must(200, "TEARDOWN", stream, "") }, gone: broken(x.conn)}
	}},
	{session.WHIP, session.RolePublisher, true, func(t *testing.T, s *relayServer, stream, token string) departure {
		way := newLossy(t, s.Addresses()["webrtc"], 0)
		x := s.rtcPublish(t, "/"+stream+"/whip", rtcOptions{auth: token, server: way.address()})
		clip := flvtest.Clip(t)
		at := uint32(0)
		relayEventually(t, "a picture by WHIP", func() bool { // the first ones may be too early for the server
			c := s.sessionOf(sessionKind{protocol: session.WHIP, role: session.RolePublisher}, stream)
			if c != nil && c.Figures().Bytes > 0 {
				return true
			}
			for _, g := range clip[:60] {
				g.Time += at
				x.send(g)
			}
			at += clip[59].Time + 40
			return false
		})
		return departure{done: func() { x.leave(token) }, gone: func() { way.conn.Close() }}
	}},
	{session.SRT, session.RolePublisher, true, func(t *testing.T, s *relayServer, stream, token string) departure {
		way := srtLossy(t, s.Addresses()["srt"], 0, 0)
		conn := srtConnect(t, way.address(), "#!::r="+stream+",m=publish,token="+token, srtShort)
		if err := srtSend(conn, 0, 60, 8); err != nil {
			t.Fatal(err)
		}
		return departure{done: func() { conn.Close() }, gone: func() { way.front.Close() }}
	}},
	{session.FLV, session.RoleViewer, false, func(t *testing.T, s *relayServer, stream, token string) departure {
		conn, _ := s.raw(t, "GET /"+stream+".flv?token="+token+" HTTP/1.1\nHost: a\n\n")
		reading(t, conn, conn)
		return departure{done: func() { conn.Close() }, gone: broken(conn)}
	}},
	{session.WS, session.RoleViewer, false, func(t *testing.T, s *relayServer, stream, token string) departure {
		socket := s.dialSocket(t, "/"+stream+".flv?token="+token)
		reading(t, &socketReader{socket: socket}, socket.NetConn())
		return departure{done: func() {
			socket.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(relayWait))
		}, gone: broken(socket.NetConn())}
	}},
	{session.RTMP, session.RoleViewer, false, func(t *testing.T, s *relayServer, stream, token string) departure {
		app, name, _ := strings.Cut(stream, "/")
		x := rtmpDial(t, s.Server, "rtmp", app)
		if err := x.c.Play(name + "?token=" + token); err != nil {
			t.Fatal(err)
		}
		reading(t, x.conn, x.conn)
		return rtmpDeparture(x)
	}},
	{session.RTSP, session.RoleViewer, false, func(t *testing.T, s *relayServer, stream, token string) departure {
		x := rtspDial(t, s.Server)
		x.auth = rtspBasic(token)
		x.must(200, "DESCRIBE", stream, "")
		x.must(200, "SETUP", stream+"/trackID=0", "", rtspTCP)
		x.must(200, "PLAY", stream, "")
		var over sync.WaitGroup
		over.Go(func() {
			x.ends()
			x.conn.Close()
		})
		t.Cleanup(over.Wait)
		return departure{done: func() {
			fmt.Fprintf(x.conn, "TEARDOWN %s RTSP/1.0\r\nCSeq: 100\r\n%s\r\n\r\n", x.url(stream), x.auth)
		}, gone: broken(x.conn)}
	}},
	{session.WHEP, session.RoleViewer, true, func(t *testing.T, s *relayServer, stream, token string) departure {
		way := newLossy(t, s.Addresses()["webrtc"], 0)
		x := s.rtcWatch(t, "/"+stream+"/whep", rtcOptions{auth: token, server: way.address()})
		return departure{done: func() { x.leave(token) }, gone: func() { way.conn.Close() }}
	}},
	{session.SRT, session.RoleViewer, true, func(t *testing.T, s *relayServer, stream, token string) departure {
		way := srtLossy(t, s.Addresses()["srt"], 0, 0)
		conn := srtConnect(t, way.address(), "#!::r="+stream+",token="+token, srtShort)
		srtReceive(conn)
		return departure{done: func() { conn.Close() }, gone: func() { way.front.Close() }}
	}},
	{session.HLS, session.RoleViewer, false, func(t *testing.T, s *relayServer, stream, token string) departure {
		v := s.watchHLS(t, "/"+stream+".m3u8?token="+token)
		v.read(t, "")
		return departure{}
	}},
}

// rtspBasic is a field with a token.
func rtspBasic(token string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("anybody:"+token))
}

// reading reads what comes until the end of a connection, which it closes then.
func reading(t *testing.T, r io.Reader, conn net.Conn) {
	var work sync.WaitGroup
	work.Go(func() {
		io.Copy(io.Discard, r)
		conn.Close()
	})
	t.Cleanup(work.Wait)
}

// leave ends a client's session as browsers do.
func (c *rtcClient) leave(token string) {
	if status, _, body := c.s.rtcAsk(c.t, "DELETE", c.location, "", "Authorization: Bearer "+token); status != http.StatusOK {
		c.t.Errorf("DELETE: %d %s", status, body)
	}
}

// How sessions of a test end, and the codes that are right for it: what a client does
// without a word, and what it says in its last moment, may come in either order.
var waysToEnd = []struct {
	name              string
	long              bool // slow kinds take part in long runs only
	publisher, viewer []string
}{
	{"clients leave", false, []string{"done", "peer_closed"}, []string{"done", "peer_closed"}},
	{"connections break", true, []string{"peer_closed", "idle"}, []string{"peer_closed", "stalled"}},
	{"kicks", true, []string{"kicked"}, []string{"kicked"}},
	{"shutdown", false, []string{"shutdown"}, []string{"shutdown", "done"}},
}

// Every session of every protocol gives one begin and one end, with its bytes, its time
// and the reason, however it ends.
func TestEventsOfEachProtocol(t *testing.T) {
	for _, ending := range waysToEnd {
		t.Run(rtmpCut(ending.name), func(t *testing.T) {
			log, url := receiveEvents(t, false)
			secret := strings.Repeat("s", access.MinSecret)
			s := startRelay(t, func(c *relayConfig) {
				c.RTMP, c.RTSP, c.WebRTC, c.SRT = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
				c.EventHook, c.APIToken = url, "0123456789"
				c.Protect, c.TokenSecret = []string{"publish", "play"}, secret
				c.MinPublishRate, c.Grace = 0, relayWait
			})
			token := func(action access.Action, stream string) string {
				return access.SignID([]byte(secret), action, stream, "cam", time.Now().Add(time.Hour))
			}
			const feed = "live/feed"
			s.feedSlowly(t, "/"+feed+".flv?token="+token(access.Publish, feed))
			s.awaitStream(t, feed)
			begun := map[string]bool{} // kinds of sessions without an end
			silent := ending.name == "clients leave" || ending.name == "connections break"
			s.hls.Times = hls.Times{First: relayWait, Idle: relayWait, Linger: relayWait, Start: relayWait}
			if silent {
				s.hlsShort()
			}
			clients := map[string]departure{} // by session
			for _, kind := range sessionKinds {
				if kind.slow && ending.long && os.Getenv("SLUICE_LONG") == "" {
					continue
				}
				stream, action := feed, access.Play
				if kind.role == session.RolePublisher {
					stream, action = "live/"+kind.protocol, access.Publish
				}
				d := kind.begin(t, s, stream, token(action, stream))
				begun[fmt.Sprint(kind.role, kind.protocol)] = true
				if d.done == nil && silent {
					continue // it may be over
				}
				relayEventually(t, fmt.Sprintf("a %s of %s has media", kind.role, kind.protocol), func() bool {
					c := s.sessionOf(kind, stream)
					if c == nil || c.Figures().Bytes == 0 {
						return false
					}
					clients[c.ID] = d
					return true
				})
			}
			for id, d := range clients {
				switch ending.name {
				case "clients leave":
					d.done()
				case "connections break":
					d.gone()
				case "kicks":
					if status, text := s.do(t, "DELETE", "/api/clients/"+id, http.Header{"Authorization": {"Bearer 0123456789"}}); status/100 != 2 {
						t.Errorf("kick of %s: %d %s", id, status, text)
					}
				}
			}
			if ending.name != "shutdown" {
				relayEventually(t, "the sessions have ended", func() bool { return len(s.host.Register.List()) == 1 })
			}
			s.end(t)
			for _, v := range checkPairs(t, log.events(), "cam") {
				codes := ending.viewer
				if v.Event == hooks.PublishEnd {
					codes = ending.publisher
				}
				if v.Stream == feed && v.Event == hooks.PublishEnd {
					continue
				}
				delete(begun, fmt.Sprint(role(v), v.Protocol))
				if !slices.Contains(codes, v.Code) {
					t.Errorf("the %s of %s ends with %q: %s", role(v), v.Protocol, v.Code, v.Reason)
				}
			}
			if len(begun) > 0 {
				t.Errorf("no events of %v", begun)
			}
		})
	}
}

// role is that of an event's session.
func role(v hooks.Event) session.Role {
	if v.Event == hooks.PublishBegin || v.Event == hooks.PublishEnd {
		return session.RolePublisher
	}
	return session.RoleViewer
}

// sessionOf is an active session of a kind, or nil.
func (s *relayServer) sessionOf(kind sessionKind, stream string) *session.Client {
	for _, c := range s.host.Register.List() {
		if c.Role == kind.role && c.Protocol == kind.protocol && c.Stream == stream {
			return c
		}
	}
	return nil
}

// feedSlowly publishes the clip over and over, faster than real time, until the stream or
// the test ends.
func (s *relayServer) feedSlowly(t *testing.T, path string) {
	f := s.feeding(t, path)
	var work sync.WaitGroup
	over := make(chan struct{})
	t.Cleanup(func() {
		close(over)
		f.Close()
		work.Wait()
	})
	work.Go(func() {
		pace := time.NewTicker(2 * time.Millisecond)
		defer pace.Stop()
		for ; ; f.at += f.length {
			for _, g := range f.clip {
				select {
				case <-pace.C:
				case <-over:
					return
				}
				g.Time += f.at
				if _, err := f.Write(g.Append(nil)); err != nil {
					return
				}
			}
		}
	})
}

// checkPairs checks that each session has one begin and one end, what stands in them, and
// that each was admitted by the token of this id. It returns the ends.
func checkPairs(t *testing.T, events []hooks.Event, token string) (ends []hooks.Event) {
	t.Helper()
	begins := map[string]hooks.Event{}
	ended := map[string]bool{}
	for _, v := range events {
		switch v.Event {
		case hooks.PublishBegin, hooks.PlayBegin:
			if _, twice := begins[v.Session]; twice {
				t.Errorf("a second begin of %s: %+v", v.Session, v)
			}
			begins[v.Session] = v
		case hooks.PublishEnd, hooks.PlayEnd:
			b, ok := begins[v.Session]
			if !ok || ended[v.Session] {
				t.Errorf("an end of %s too many: %+v", v.Session, v)
			}
			ended[v.Session] = true
			ends = append(ends, v)
			if role(b) != role(v) || b.Stream != v.Stream || b.Protocol != v.Protocol || b.Address != v.Address {
				t.Errorf("begin and end of different sessions:\n%+v\n%+v", b, v)
			}
			if *v.Bytes <= 0 || *v.DurationMS < 0 || v.Time.Before(b.Time) || v.Reason == "" || v.Code == "" {
				t.Errorf("the end of %s says %d bytes, %d ms, code %q, reason %q", v.Session, *v.Bytes, *v.DurationMS, v.Code, v.Reason)
			}
			if b.Token != token || v.Token != token || v.Address == "" {
				t.Errorf("%s %s: token %q and %q, address %q", v.Protocol, v.Event, b.Token, v.Token, v.Address)
			}
		}
	}
	for id, b := range begins {
		if !ended[id] {
			t.Errorf("no end of %s: %+v", id, b)
		}
	}
	return ends
}
