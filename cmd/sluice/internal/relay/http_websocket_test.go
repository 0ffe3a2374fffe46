package relay

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// dialSocket connects to a path by WebSocket.
func (s *relayServer) dialSocket(t *testing.T, path string) *websocket.Conn {
	t.Helper()
	socket, resp, err := websocket.DefaultDialer.Dial("ws://"+s.http+path, http.Header{"User-Agent": {"ws-test"}})
	if err != nil {
		t.Fatalf("%v, %+v", err, resp)
	}
	t.Cleanup(func() { socket.Close() })
	socket.SetReadDeadline(time.Now().Add(relayWait))
	return socket
}

// socketReader reads the bytes of binary messages as one stream.
type socketReader struct {
	socket *websocket.Conn
	now    io.Reader
}

func (r *socketReader) Read(p []byte) (int, error) {
	for {
		if r.now == nil {
			kind, now, err := r.socket.NextReader()
			if err != nil {
				return 0, err
			}
			if kind != websocket.BinaryMessage {
				return 0, fmt.Errorf("a message of type %d", kind)
			}
			r.now = now
		}
		n, err := r.now.Read(p)
		if err == io.EOF {
			r.now, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func TestFLVOverWebSocket(t *testing.T) {
	s := startRelay(t, nil)
	want := flvtest.Clip(t)
	got := make(chan []flvtest.Tag, 2)
	var pongs = make(chan string, 100)
	for range 2 {
		go func() {
			socket := s.dialSocket(t, "/live/s.flv?wait=20")
			socket.SetPongHandler(func(text string) error { pongs <- text; return nil })
			flv := flvtest.NewReader(&socketReader{socket: socket})
			var tags []flvtest.Tag
			for {
				g, err := flv.Next()
				if err != nil {
					if !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
						t.Errorf("ends with %v", err)
					}
					break
				}
				tags = append(tags, g)
				if len(tags)%100 == 0 {
					if err := socket.WriteControl(websocket.PingMessage, fmt.Append(nil, len(tags)), time.Now().Add(relayWait)); err != nil {
						t.Error(err)
					}
				}
			}
			got <- tags
		}()
	}
	relayEventually(t, "two who wait", func() bool { return s.host.Gate.Usage().Viewers == 2 })
	p := s.publishing(t, "/live/s.flv")
	p.send(t, want[:len(want)/2]...)
	for range 2 {
		select {
		case <-pongs:
		case <-time.After(relayWait):
			t.Fatal("a ping is not answered while media comes")
		}
	}
	p.send(t, want[len(want)/2:]...)
	p.Close()
	for range 2 {
		if tags := <-got; !slices.Equal(tags, want) {
			t.Errorf("%d tags in, %d out, or not the same", len(want), len(tags))
		}
	}
	s.log.line(t, "viewer started", "protocol=ws", "agent=ws-test")
	s.log.line(t, "viewer ended", "protocol=ws", "the stream is over")
	relayEventually(t, "nobody", func() bool { return s.host.Gate.Usage().Viewers == 0 })
}

func TestWebSocketThatIsRefused(t *testing.T) {
	s := startRelay(t, nil)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)[:10]...)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	for path, want := range map[string]int{"/live/none.flv": 404, "/live/s.flv?merge=999": 400, "/live/s.mp4": 404} {
		_, resp, err := websocket.DefaultDialer.Dial("ws://"+s.http+path, nil)
		if err == nil || resp == nil || resp.StatusCode != want {
			t.Errorf("%s: %v, %+v", path, err, resp)
		}
	}
	// Upgrades that are none are answered, and nothing of them is counted.
	for _, head := range []string{
		"Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 8\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n",
		"Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: short\n",
	} {
		_, r := s.raw(t, "GET /live/s.flv HTTP/1.1\nHost: a\n"+head+"\n")
		if status, _, text := readAnswer(t, r); status != 400 || !strings.HasPrefix(text, `{"error":"websocket: `) {
			t.Errorf("%d %s", status, text)
		}
	}
	relayEventually(t, "nobody", func() bool {
		return s.host.Gate.Usage().Viewers == 0 && s.host.Register.Number(session.RoleViewer) == 0
	})
}

func TestWebSocketThatTheClientCloses(t *testing.T) {
	s := startRelay(t, nil)
	clip := flvtest.Clip(t)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, clip[:10]...)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })

	polite := s.dialSocket(t, "/live/s.flv")
	if err := polite.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, "bye"), time.Now().Add(relayWait)); err != nil {
		t.Fatal(err)
	}
	for {
		if _, _, err := polite.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
				t.Errorf("the close is answered with %v", err)
			}
			break
		}
	}
	polite.Close()

	broken := s.dialSocket(t, "/live/s.flv")
	broken.NetConn().Write([]byte{0x82, 0x01, 0xff}) // not masked
	for {
		if _, _, err := broken.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, websocket.CloseProtocolError) {
				t.Errorf("what breaks the protocol is answered with %v", err)
			}
			break
		}
	}
	broken.Close()

	gone := s.dialSocket(t, "/live/s.flv")
	gone.NetConn().Close()
	relayEventually(t, "nobody", func() bool { return s.host.Gate.Usage().Viewers == 0 })
	for _, id := range []string{"v1", "v2", "v3"} {
		s.log.line(t, "viewer ended", "id="+id)
	}
}
