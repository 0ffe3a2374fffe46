package keepalive

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pair returns the two ends of a connection.
func pair(t *testing.T) (*client, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := dial(t, l.Addr().String())
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c, other
}

const request = "GET /m HTTP/1.1\r\nHost: x\r\n\r\n"

// A client that sends nothing, or half a header, is closed in its time.
func TestSilentClients(t *testing.T) {
	hello := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }
	for name, c := range map[string]struct {
		change func(*Options)
		send   string
	}{
		"idle":          {func(o *Options) { o.Idle = 10 * time.Millisecond }, ""},
		"half a header": {func(o *Options) { o.Header = 10 * time.Millisecond }, request[:20]},
		"one byte":      {func(o *Options) { o.Header = 10 * time.Millisecond }, request[:1]},
	} {
		client := dial(t, begin(t, hello, c.change).at)
		client.send(t, c.send, false)
		// A connection that is closed before what was sent is read is reset.
		if rest, err := io.ReadAll(client); err != nil && !errors.Is(err, syscall.ECONNRESET) || len(rest) > 0 {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
	}
}

// A client that reads nothing is closed when its answer does not get on.
func TestClientThatDoesNotRead(t *testing.T) {
	failed := make(chan error, 1)
	f := begin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000000")
		p := make([]byte, 1<<20)
		for {
			if _, err := w.Write(p); err != nil {
				failed <- err
				return
			}
		}
	}, func(o *Options) { o.Answer = 100 * time.Millisecond })
	dial(t, f.at).send(t, request, false)
	select {
	case err := <-failed:
		var late net.Error
		if !errors.As(err, &late) || !late.Timeout() {
			t.Error(err)
		}
	case <-time.After(testWait):
		t.Fatal("the answer still waits")
	}
	wait(t, f.kept)
}

// wait waits for the end of all connections.
func wait(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	if err := s.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

// Drain closes idle connections, and those with a request behind its answer, which says so.
func TestDrain(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	f := begin(t, func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-end
		io.WriteString(w, "hello")
	}, nil)
	busy, idle := dial(t, f.at), dial(t, f.at)
	busy.send(t, request, false)
	<-began
	f.kept.Drain()
	if rest, err := io.ReadAll(idle); err != nil || len(rest) > 0 {
		t.Errorf("an idle one: %q, %v", rest, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.kept.Wait(ctx); err != context.Canceled {
		t.Errorf("a request is served: %v", err)
	}
	close(end)
	resp, body := busy.answer(t, "GET")
	if body != "hello" || !resp.Close {
		t.Errorf("a busy one: %q, close %v", body, resp.Close)
	}
	wait(t, f.kept)
	late, other := pair(t)
	f.kept.Take(&returnable{Conn: other}, nil)
	if rest, err := io.ReadAll(late); err != nil || len(rest) > 0 {
		t.Errorf("a late one: %q, %v", rest, err)
	}
}

// Close ends requests, and takes no connection any more.
func TestClose(t *testing.T) {
	began := make(chan struct{})
	f := begin(t, func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}, nil)
	c := dial(t, f.at)
	c.send(t, request, false)
	<-began
	f.kept.Close()
	io.ReadAll(c)
	wait(t, f.kept)
	late, other := pair(t)
	f.kept.Take(&returnable{Conn: other}, nil)
	if rest, err := io.ReadAll(late); err != nil || len(rest) > 0 {
		t.Errorf("a late one: %q, %v", rest, err)
	}
}

// A handler that panics ends its connection alone.
func TestHandlerThatPanics(t *testing.T) {
	f := begin(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
		switch r.URL.Path {
		case "/m/panic":
			panic("the handler is broken")
		case "/m/abort":
			panic(http.ErrAbortHandler)
		}
	}, nil)
	other := dial(t, f.at)
	for _, path := range []string{"/m/abort", "/m/panic"} {
		c := dial(t, f.at)
		c.send(t, strings.Replace(request, "/m", path, 1), false)
		if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
			t.Errorf("%s: %q, %v", path, rest, err)
		}
		if logged := strings.Contains(f.log.String(), "the handler is broken"); logged != (path == "/m/panic") {
			t.Errorf("%s: logged %q", path, f.log.String())
		}
	}
	other.send(t, request, false)
	if _, body := other.answer(t, "GET"); body != "hello" {
		t.Errorf("%q", body)
	}
}

// The states are those of net/http.
func TestStates(t *testing.T) {
	var mu sync.Mutex
	var states []http.ConnState
	f := begin(t, various, func(o *Options) {
		o.State = func(_ net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, s)
		}
	})
	c := dial(t, f.at)
	for range 2 {
		c.send(t, "GET /m/length HTTP/1.1\r\nHost: x\r\n\r\n", false)
		c.answer(t, "GET")
	}
	c.Close()
	wait(t, f.kept)
	mu.Lock()
	defer mu.Unlock()
	want := []http.ConnState{http.StateIdle, http.StateActive, http.StateIdle, http.StateActive, http.StateIdle, http.StateClosed}
	if len(states) != len(want) {
		t.Fatalf("%v", states)
	}
	for i := range want {
		if states[i] != want[i] {
			t.Fatalf("%v", states)
		}
	}
}
