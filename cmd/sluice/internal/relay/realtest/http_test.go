//go:build linux

package realtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

func bytesReader(p []byte) io.Reader { return bytes.NewReader(p) }

// eventTimeout is the time limit of a client's connection.
const eventTimeout = 2 * time.Minute

// dial connects, over TLS when secure.
func dial(t testing.TB, address string, secure bool) net.Conn {
	t.Helper()
	conn, err := dialErr(address, secure)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func dialErr(address string, secure bool) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, eventTimeout)
	if err != nil {
		return nil, err
	}
	if secure {
		// The certificate is self-signed.
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	return conn, conn.SetDeadline(time.Now().Add(eventTimeout))
}

// A status is an answer other than the one that was asked for.
type status struct {
	code int
	body string
}

func (s *status) Error() string { return fmt.Sprintf("status %d: %s", s.code, s.body) }

// playHTTP asks for a path of FLV on a connection, which is the caller's to close.
func playHTTP(conn net.Conn, path string) (*flvSource, error) {
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: realtest\r\n\r\n", path)
	return answered(conn, http.StatusOK, func(resp *http.Response, _ *bufio.Reader) (io.Reader, error) {
		if got := resp.Header.Get("Content-Type"); got != "video/x-flv" {
			return nil, fmt.Errorf("the content type is %q", got)
		}
		return resp.Body, nil
	})
}

// playWebSocket asks for a path of FLV over WebSocket (RFC 6455).
func playWebSocket(conn net.Conn, path string) (*flvSource, error) {
	var nonce [16]byte
	rand.Read(nonce[:])
	key := base64.StdEncoding.EncodeToString(nonce[:])
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n", path, key)
	return answered(conn, http.StatusSwitchingProtocols, func(resp *http.Response, r *bufio.Reader) (io.Reader, error) {
		sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		if got, want := resp.Header.Get("Sec-WebSocket-Accept"), base64.StdEncoding.EncodeToString(sum[:]); got != want {
			return nil, fmt.Errorf("Sec-WebSocket-Accept is %q, want %q", got, want)
		}
		return &webSocket{conn: conn, r: r}, nil
	})
}

func answered(conn net.Conn, want int, body func(*http.Response, *bufio.Reader) (io.Reader, error)) (*flvSource, error) {
	r := bufio.NewReaderSize(conn, 64<<10)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodGet})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != want {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return nil, &status{resp.StatusCode, string(text)}
	}
	stream, err := body(resp, r)
	if err != nil {
		return nil, err
	}
	return newFLV(stream), nil
}

// webSocket reads the bytes of binary messages and answers pings.
type webSocket struct {
	conn net.Conn
	r    *bufio.Reader
	left uint64 // of the frame that is being read
}

func (w *webSocket) Read(p []byte) (int, error) {
	for w.left == 0 {
		if err := w.frame(); err != nil {
			return 0, err
		}
	}
	n, err := w.r.Read(p[:min(uint64(len(p)), w.left)])
	w.left -= uint64(n)
	return n, err
}

// frame reads the head of a frame, and the whole frame when it is one of control.
func (w *webSocket) frame() error {
	var h [2]byte
	if _, err := io.ReadFull(w.r, h[:]); err != nil {
		return noEOF(err) // a WebSocket ends with a close frame
	}
	length := uint64(h[1])
	switch {
	case h[1] >= 0x80:
		return errors.New("a server's frame is masked (RFC 6455, section 5.1)")
	case h[1] == 126:
		var b [2]byte
		if _, err := io.ReadFull(w.r, b[:]); err != nil {
			return noEOF(err)
		}
		length = uint64(binary.BigEndian.Uint16(b[:]))
	case h[1] == 127:
		var b [8]byte
		if _, err := io.ReadFull(w.r, b[:]); err != nil {
			return noEOF(err)
		}
		length = binary.BigEndian.Uint64(b[:])
	}
	switch opcode := h[0] & 0x0f; opcode {
	case 0, 2:
		w.left = length
		return nil
	case 8, 9:
		body := make([]byte, length)
		if _, err := io.ReadFull(w.r, body); err != nil {
			return noEOF(err)
		}
		if opcode == 8 {
			return io.EOF
		}
		// Masked with nothing, which a client's frames must be.
		_, err := w.conn.Write(append([]byte{0x8a, 0x80 | byte(length), 0, 0, 0, 0}, body...))
		return err
	default:
		return fmt.Errorf("a frame with opcode %d", opcode)
	}
}

// A post publishes over HTTP-FLV.
type post struct {
	w      *io.PipeWriter
	result chan error
	once   sync.Once
}

// publishHTTP begins to publish to a URL. What the server answers, if it does,
// ends the writes.
func publishHTTP(t testing.TB, method, url string) *post {
	t.Helper()
	r, w := io.Pipe()
	p := &post{w: w, result: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), postBody{}, r))
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "video/x-flv")
	go func() {
		resp, err := postClient.Do(req)
		if err == nil {
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode >= 300 {
				err = &status{resp.StatusCode, string(text)}
			}
		}
		r.CloseWithError(errors.Join(err, errAnswered))
		p.result <- err
	}()
	return p
}

var (
	errAnswered = errors.New("the server has answered")
	postClient  = &http.Client{Transport: &http.Transport{DialContext: dialPost, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
)

type postBody struct{} // the key of a request's *io.PipeReader in its context

// dialPost makes the connection of one request. Its end ends the body too: the client
// waits for a body that nothing more is written to before it says that the answer was lost.
func dialPost(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return postConn{conn, ctx.Value(postBody{}).(*io.PipeReader)}, nil
}

type postConn struct {
	net.Conn
	body *io.PipeReader
}

func (c postConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.body.CloseWithError(err)
	}
	return n, err
}

// send writes a tag, the first one after the file's header.
func (p *post) send(g tag) error {
	var b []byte
	p.once.Do(func() { b = append(b, flvHeader...) })
	_, err := p.w.Write(g.append(b))
	return err
}

// end ends the body and returns what the server made of it.
func (p *post) end(t testing.TB) error {
	t.Helper()
	p.w.Close()
	return receive(t, lengthened(10*time.Second), "answer to what was published", p.result)
}
