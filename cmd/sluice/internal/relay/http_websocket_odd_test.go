package relay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// clientFrame is a frame of a client, masked by zeros.
func clientFrame(head byte, payload []byte) []byte {
	f := []byte{head, 0x80 | 126, 0, 0}
	binary.BigEndian.PutUint16(f[2:], uint16(len(payload)))
	if len(payload) < 126 {
		f = []byte{head, 0x80 | byte(len(payload))}
	}
	return append(append(f, 0, 0, 0, 0), payload...)
}

// What a viewer closes with is answered with the same, or with the code that says what is
// wrong with it (RFC 6455, sections 5.5.1 and 7.4).
func TestWebSocketCloseCodes(t *testing.T) {
	s := startRelay(t, nil)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)[:10]...)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	code := func(n uint16, reason string) []byte { return append(binary.BigEndian.AppendUint16(nil, n), reason...) }
	for name, c := range map[string]struct {
		frames []byte
		want   int
	}{
		"going away":              {clientFrame(0x88, code(1001, "bye")), 1001},
		"of an application":       {clientFrame(0x88, code(4999, "")), 4999},
		"no code":                 {clientFrame(0x88, nil), websocket.CloseNoStatusReceived},
		"half a code":             {clientFrame(0x88, []byte{3}), 1002},
		"a code of no section":    {clientFrame(0x88, code(999, "")), 1002},
		"a code for no frame":     {clientFrame(0x88, code(1005, "")), 1002},
		"a code for no peer":      {clientFrame(0x88, code(1006, "")), 1002},
		"a code above all":        {clientFrame(0x88, code(5000, "")), 1002},
		"a reason of other bytes": {clientFrame(0x88, code(1000, "\xff\xfe")), 1002},
		"a close in pieces":       {clientFrame(0x08, code(1000, "")), 1002},
		"a text that is long":     {clientFrame(0x81, make([]byte, 8<<10)), 1009},
		"a compressed message":    {clientFrame(0xc1, []byte{1}), 1002},
		"a ping in a message":     {append(clientFrame(0x01, []byte("a")), append(clientFrame(0x89, []byte("p")), append(clientFrame(0x80, nil), clientFrame(0x88, code(1000, ""))...)...)...), 1000},
	} {
		socket := s.dialSocket(t, "/live/s.flv")
		pongs := 0
		socket.SetPongHandler(func(string) error { pongs++; return nil })
		if _, err := socket.NetConn().Write(c.frames); err != nil {
			t.Fatal(err)
		}
		for {
			if _, _, err := socket.ReadMessage(); err != nil {
				if !websocket.IsCloseError(err, c.want) {
					t.Errorf("%s is answered with %v, want %d", name, err, c.want)
				}
				break
			}
		}
		if want := strings.Count(name, "ping"); pongs != want {
			t.Errorf("%s: %d pongs", name, pongs)
		}
		socket.Close()
	}
}

// A viewer that offers compression is played without.
func TestWebSocketCompressionOffered(t *testing.T) {
	s := startRelay(t, nil)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)[:10]...)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	dialer := websocket.Dialer{EnableCompression: true}
	socket, resp, err := dialer.Dial("ws://"+s.http+"/live/s.flv", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	socket.SetReadDeadline(time.Now().Add(relayWait))
	if got := resp.Header.Values("Sec-Websocket-Extensions"); len(got) > 0 {
		t.Errorf("extensions: %q", got)
	}
	if kind, p, err := socket.ReadMessage(); err != nil || kind != websocket.BinaryMessage || !bytes.HasPrefix(p, []byte("FLV")) {
		t.Errorf("a message of type %d, %.10q, %v", kind, p, err)
	}
}

// A viewer that sends more than a viewer has to say is ended, whatever it sends.
func TestWebSocketFloods(t *testing.T) {
	s := startRelay(t, nil)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)[:10]...)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	for name, frame := range map[string][]byte{
		"pongs":             clientFrame(0x8a, make([]byte, 100)),
		"texts":             clientFrame(0x81, make([]byte, 4000)),
		"nothing":           clientFrame(0x82, nil),
		"pings, not waited": clientFrame(0x89, nil),
	} {
		socket := s.dialSocket(t, "/live/s.flv")
		go func() {
			for sent := 0; sent < 64<<20; {
				n, err := socket.NetConn().Write(bytes.Repeat(frame, 64<<10/len(frame)))
				if sent += n; err != nil {
					return
				}
			}
		}()
		var err error
		for err == nil {
			_, _, err = socket.ReadMessage()
		}
		var e interface{ Timeout() bool }
		if errors.As(err, &e) && e.Timeout() {
			t.Errorf("%s: the viewer goes on", name)
		}
		socket.Close()
	}
	relayEventually(t, "no viewer", func() bool { return s.host.Register.Number(session.RoleViewer) == 0 })
}
