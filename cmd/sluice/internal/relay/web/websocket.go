package web

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
)

// playWebSocket sends a stream as FLV in binary messages. A separate goroutine
// for the viewer reads the client's pings and close frame.
func (w *Server) playWebSocket(rw http.ResponseWriter, r *http.Request, st *live.Stream, info session.Info, o session.PlayOptions, done func()) {
	upgrader := websocket.Upgrader{
		HandshakeTimeout: w.Times.Answer,
		CheckOrigin:      w.cors().admits,
		Error: func(rw http.ResponseWriter, _ *http.Request, status int, reason error) {
			answerError(rw, status, reason.Error())
		},
	}
	socket, err := upgrader.Upgrade(rw, r, nil)
	if err != nil {
		done()
		w.Refused(session.RoleViewer, info, err)
		return
	}
	// From here on the live.Writer writes the frames, and the code below reads
	// them: nothing is left in the buffers of the websocket package.
	conn := plain(socket.NetConn())
	in := &socketInlet{conn: conn, r: newClientFrames(conn)}
	v, err := w.TryWatch(conn, st, info, o, session.Viewing{
		Form:    live.FormWebSocket,
		Trailer: overFrame(),
		Done:    done,
		Inlet:   in,
	})
	if err != nil {
		conn.SetWriteDeadline(time.Now().Add(time.Second))
		conn.Write(closeFrame(websocket.CloseTryAgainLater, err.Error()))
		conn.Close()
		return
	}
	in.v = v
	w.Group.Run(conn, func(conn net.Conn) { in.serve(conn, v) })
}

const (
	// maxClientFrame is the longest frame that a viewer may send, in bytes:
	// players send only control frames.
	maxClientFrame = 4 << 10
	// closeWait is how long a client may take to close the connection after its
	// close frame.
	closeWait = 2 * time.Second
)

// watcher is a viewer, as far as its frames matter to it.
type watcher interface {
	Pause(on bool)
	Control(p []byte) error
}

// listenWebSocket is listen for a viewer that no other process goes on with.
func listenWebSocket(conn net.Conn, v watcher) error {
	return (&socketInlet{conn: conn, r: newClientFrames(conn), v: v}).listen(conn)
}

// A socketInlet reads what a WebSocket viewer sends.
type socketInlet struct {
	session.Standstill
	conn    net.Conn
	r       clientFrames
	v       watcher
	closing bool

	rest []byte // received and not looked at, once it stands still
}

// serve reads until the connection ends, and ends the viewer.
func (in *socketInlet) serve(conn net.Conn, v *live.Viewer) {
	err := in.listen(conn)
	in.End()
	v.Close(err)
	<-v.Done()
}

// listen reads a viewer's frames (RFC 6455, section 5) until the
// connection ends, and returns why. Pings and closes are answered between the
// messages of the stream.
func (in *socketInlet) listen(conn net.Conn) error {
	r, v := &in.r, in.v
	defer r.Recycle()
	began := time.Now()
	for {
		if in.stands() {
			return session.ErrMoved
		}
		opcode, payload, err := r.next()
		switch {
		case session.Floods(r.TotalRead(), began):
			return session.ErrFloods
		case err == nil && !in.closing && opcode == websocket.CloseMessage && !validClose(payload):
			err = fmt.Errorf("%w: code or reason of a close frame", errWebSocket)
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && in.Asked():
			continue
		case errors.Is(err, errWebSocket):
			code := websocket.CloseProtocolError
			if errors.Is(err, errTooLong) {
				code = websocket.CloseMessageTooBig
			}
			v.Pause(true)
			v.Control(closeFrame(code, err.Error()))
			conn.SetReadDeadline(time.Now().Add(closeWait))
			r.WriteTo(io.Discard) // until the client has closed, or the deadline
			return err
		default:
			return session.ErrPeerGone
		}
		if in.closing {
			continue
		}
		switch opcode {
		case websocket.PingMessage:
			v.Control(serverFrame(websocket.PongMessage, payload))
		case websocket.CloseMessage:
			// The close frame is the last that either side sends.
			in.closing = true
			v.Pause(true)
			v.Control(serverFrame(websocket.CloseMessage, payload[:min(len(payload), 2)]))
			conn.SetReadDeadline(time.Now().Add(closeWait))
		}
	}
}

var (
	// errWebSocket means that a client's frame breaks the protocol.
	errWebSocket = errors.New("bad WebSocket frame")
	errTooLong   = fmt.Errorf("%w: more than %d bytes", errWebSocket, maxClientFrame)
)

// validClose reports whether a client may close with that payload (RFC 6455, sections
// 5.5.1 and 7.4): nothing, or a code that is sent in frames and text.
func validClose(payload []byte) bool {
	if len(payload) < 2 {
		return len(payload) == 0
	}
	switch code := binary.BigEndian.Uint16(payload); {
	case code == 1004, code == websocket.CloseNoStatusReceived, code == websocket.CloseAbnormalClosure, code == websocket.CloseTLSHandshake:
		return false
	case code < 1000, code > 1014 && code < 3000, code > 4999:
		return false
	}
	return utf8.Valid(payload[2:])
}

// clientFrames are the frames that a viewer sends.
type clientFrames struct {
	*sluice.BufReader
	inside bool // a message whose last frame has not come
}

// newClientFrames returns a reader of what a viewer sends.
func newClientFrames(conn net.Conn) clientFrames {
	return clientFrames{BufReader: sluice.NewBufReader(conn)}
}

// next reads a frame. The payload, unmasked, is the caller's.
func (r *clientFrames) next() (opcode int, payload []byte, err error) {
	head, err := r.Peek(2)
	if err != nil {
		return 0, nil, err
	}
	const fin, reserved, masked = 0x80, 0x70, 0x80
	opcode = int(head[0] & 0x0f)
	control := opcode&0x08 != 0
	size, length := 2, int(head[1]&0x7f)
	switch {
	case head[0]&reserved != 0:
		return 0, nil, fmt.Errorf("%w: reserved bits", errWebSocket)
	case head[1]&masked == 0:
		return 0, nil, fmt.Errorf("%w: not masked", errWebSocket)
	case control && (head[0]&fin == 0 || length > 125):
		return 0, nil, fmt.Errorf("%w: a control frame that is cut or long", errWebSocket)
	case opcode > websocket.BinaryMessage && opcode < websocket.CloseMessage || opcode > websocket.PongMessage:
		return 0, nil, fmt.Errorf("%w: opcode %d is reserved", errWebSocket, opcode)
	case !control && r.inside != (opcode == 0):
		return 0, nil, fmt.Errorf("%w: opcode %d, inside a message: %t", errWebSocket, opcode, r.inside)
	case length == 126:
		size = 4
	case length == 127:
		size = 10
	}
	size += 4 // the mask
	if head, err = r.Peek(size); err != nil {
		return 0, nil, err
	}
	switch length {
	case 126:
		length = int(binary.BigEndian.Uint16(head[2:]))
	case 127:
		length = maxClientFrame + 1 // the 64-bit form is only for lengths above the limit
	}
	if length > maxClientFrame {
		return 0, nil, errTooLong
	}
	frame, err := r.Next(size + length)
	if err != nil {
		return 0, nil, err
	}
	if !control {
		r.inside = frame[0]&fin == 0
	}
	mask := frame[size-4 : size]
	payload = make([]byte, length)
	for i, c := range frame[size:] {
		payload[i] = c ^ mask[i%4]
	}
	return opcode, payload, nil
}

// serverFrame is a control frame as a server sends it: whole and not masked.
func serverFrame(opcode int, payload []byte) []byte {
	return append([]byte{0x80 | byte(opcode), byte(len(payload))}, payload...)
}

// closeFrame is a close frame with its reason, of which 123 bytes fit.
func closeFrame(code int, reason string) []byte {
	payload := binary.BigEndian.AppendUint16(nil, uint16(code))
	return serverFrame(websocket.CloseMessage, append(payload, strings.ToValidUTF8(reason[:min(len(reason), 123)], "")...))
}

// overFrame is what a WebSocket viewer is sent at the end of its stream.
func overFrame() []byte { return closeFrame(websocket.CloseNormalClosure, "the stream is over") }

// stands reports whether the session was given away; see Standstill.
func (in *socketInlet) stands() (moved bool) {
	if !in.Asked() {
		return false
	}
	moved = in.Stand(func() error {
		if in.closing {
			return errClosing
		}
		n := in.r.Buffered()
		in.rest = make([]byte, 0, n)
		if n == 0 {
			return nil
		}
		in.r.Mark()
		err := in.r.ReadRange(n, func(p []byte) { in.rest = append(in.rest, p...) })
		in.r.Rollback()
		return err
	})
	if !moved {
		deadline := time.Time{}
		if in.closing {
			deadline = time.Now().Add(closeWait)
		}
		in.conn.SetReadDeadline(deadline)
	}
	return moved
}

// errClosing: a viewer that is about to end is not moved.
var errClosing = errors.New("the viewer is about to end")
