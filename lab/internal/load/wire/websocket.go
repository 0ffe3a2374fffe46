package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// A messages is a WebSocket as a stream: each message is a frame with a 4-byte length,
// in both directions. It is for one reader and one writer.
type messages struct {
	net.Conn // below the WebSocket
	ws       *websocket.Conn
	ctx      context.Context // of the connection
	stop     context.CancelFunc
	out      []byte // the start of a frame that is not whole
	in       []byte // the rest of a frame
}

const mostMessage = 64 << 20

// newMessages speaks WebSocket on a connection, transferred, as a client of url.
func newMessages(ctx context.Context, conn net.Conn, url string, header http.Header, host string) (net.Conn, error) {
	same := func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	client := &http.Client{Transport: &http.Transport{DialContext: same, DialTLSContext: same}}
	protocols := strings.FieldsFunc(strings.Join(header.Values("Sec-WebSocket-Protocol"), ","), func(c rune) bool { return c == ',' || c == ' ' })
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header, Host: host, Subprotocols: protocols, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		conn.Close()
		return nil, err
	}
	ws.SetReadLimit(mostMessage)
	m := &messages{Conn: conn, ws: ws}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m, nil
}

func (m *messages) Read(p []byte) (int, error) {
	if len(m.in) == 0 {
		_, message, err := m.ws.Read(m.ctx)
		if op := (*net.OpError)(nil); err != nil && websocket.CloseStatus(err) < 0 && !errors.As(err, &op) &&
			!errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, net.ErrClosed) {
			err = fmt.Errorf("%w: %w", ErrReply, err) // not of the protocol
		}
		if err != nil {
			return 0, err
		}
		m.in = append(binary.BigEndian.AppendUint32(make([]byte, 0, lengthLen+len(message)), uint32(len(message))), message...)
	}
	n := copy(p, m.in)
	m.in = m.in[n:]
	return n, nil
}

func (m *messages) Write(p []byte) (int, error) {
	m.out = append(m.out, p...)
	frame := m.out
	for len(frame) >= lengthLen {
		end := lengthLen + int(binary.BigEndian.Uint32(frame))
		if len(frame) < end {
			break
		}
		if err := m.ws.Write(m.ctx, websocket.MessageBinary, frame[lengthLen:end]); err != nil {
			return 0, err
		}
		frame = frame[end:]
	}
	m.out = append(m.out[:0], frame...)
	return len(p), nil
}

func (m *messages) Close() error {
	m.stop()
	return m.ws.CloseNow()
}

// A message is a request of a WebSocket with any message as its reply or, where it is verified, the same. What the
// target says before it is asked, a greeting, is no reply.
type message struct {
	echo
	frame own  // finds the end of one
	asked bool // there is, or was, a request
}

func (m *message) Reply(r *Request, p []byte) (int, Outcome, error) {
	if !m.asked && len(m.frame.head) > 0 { // the rest of a greeting
		n, err := m.Pushed(p)
		return n, Outcome{}, err
	}
	if m.asked = true; m.verify {
		return m.echo.Reply(r, p)
	}
	return m.frame.Reply(r, p)
}

func (m *message) Pushed(p []byte) (int, error) {
	if m.asked {
		return 0, nil
	}
	n, _, err := m.frame.Reply(nil, p)
	return n, err
}
