package keepalive

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/logtest"
)

// testWait is how long something may take that has to happen.
const testWait = 20 * time.Second

// A returnable is a Conn.
type returnable struct {
	net.Conn
	unread []byte
}

func (c *returnable) Return(p []byte) { c.unread = p }

func (c *returnable) Read(p []byte) (int, error) {
	if len(c.unread) > 0 {
		n := copy(p, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// A fixture is a server whose connections come here first, and one of net/http alone with
// the same handler.
type fixture struct {
	kept      *Server
	log       logtest.Log
	at, plain string // addresses
}

// begin serves a handler. Paths below /m are for the server.
func begin(t *testing.T, h http.HandlerFunc, change func(*Options)) *fixture {
	t.Helper()
	f := &fixture{}
	o := Options{
		Handler: h, Serves: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/m") }, State: func(net.Conn, http.ConnState) {},
		Idle: testWait, Header: testWait, Answer: testWait, Watch: testWait, Log: log.New(&f.log, "", 0),
	}
	if change != nil {
		change(&o)
	}
	f.kept = New(o)
	web := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go web.Serve(f.kept.Returned())
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l, other := listen(), listen()
	f.at, f.plain = l.Addr().String(), other.Addr().String()
	go web.Serve(other)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.kept.Take(&returnable{Conn: c}, nil)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		web.Close()
		f.kept.Close()
		ctx, cancel := context.WithTimeout(context.Background(), testWait)
		defer cancel()
		if err := f.kept.Wait(ctx); err != nil {
			t.Error(err)
		}
	})
	return f
}

// A client sends what it likes.
type client struct {
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, address string) *client {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(testWait))
	return &client{c, bufio.NewReader(c)}
}

// send sends text, a byte at a time if slow.
func (c *client) send(t *testing.T, text string, slow bool) {
	t.Helper()
	step := len(text)
	if slow {
		step = 1
	}
	for ; text != ""; text = text[min(step, len(text)):] {
		if _, err := io.WriteString(c, text[:min(step, len(text))]); err != nil {
			return // the answer has come already
		}
	}
}

// answer reads an answer. It returns "" when the connection has ended.
func (c *client) answer(t *testing.T, method string) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		return nil, ""
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, broken + string(body)
	}
	return resp, string(body)
}
