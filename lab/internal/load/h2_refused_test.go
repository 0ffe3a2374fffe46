package load

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

func failing(t *testing.T, p Plan) string {
	r, err := Run(t.Context(), p, nil)
	if err != nil {
		return err.Error()
	}
	return r.Error
}

// With TLS 1.3 a client learns that its certificate is missing after the handshake.
func TestHTTP2SaysWhyConnectionsAreRefused(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	// What has been read whole is closed without a reset.
	says := func(text []byte) *target {
		return serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
			conn.Write(text)
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn)
		})
	}
	var goAway bytes.Buffer
	f := http2.NewFramer(&goAway, nil)
	if err := errors.Join(f.WriteSettings(), f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("too many"))); err != nil {
		t.Fatal(err)
	}
	leaves := says(goAway.Bytes())
	closes := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {})
	old := says([]byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
	for target, want := range map[string]string{
		s.URL:                     "certificate required",
		"http://" + leaves.name(): "ENHANCE_YOUR_CALM",
		"http://" + closes.name(): "EOF|reset|closed|broken",
		"http://" + old.name():    "HTTP/1.1",
	} {
		for range 20 {
			p := brief(target)
			p.Requests.HTTP = &wire.HTTP{Two: true}
			p.Requests.Insecure = strings.HasPrefix(target, "https")
			got := failing(t, p)
			found := false
			for part := range strings.SplitSeq(want, "|") {
				found = found || strings.Contains(got, part)
			}
			if !found {
				t.Errorf("%s: %q, want %q in it", target, got, want)
			}
		}
	}
}

// A reset is of one request, which has failed, and the run goes on.
func TestHTTP2ResetsAreFailedRequests(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	p := brief(s.URL)
	p.Requests.HTTP, p.Requests.Insecure = &wire.HTTP{Two: true}, true
	r, err := Run(t.Context(), p, nil)
	if err != nil || r.Errors != 0 || r.Redials != 0 || r.Requests == 0 || r.FailedRequests() != r.Requests || !strings.Contains(r.Failure, "INTERNAL_ERROR") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A reply that stops is another fault than none.
func TestAReplyThatStopsIsNotSilence(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "ten bytes.")
		w.(http.Flusher).Flush()
		<-over
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() { close(over); s.Close() })
	for _, two := range []bool{false, true} {
		p := brief(s.URL)
		p.Requests.Insecure, p.Requests.HTTP, p.Timeout = true, &wire.HTTP{Two: two}, 300*time.Millisecond
		if said := failing(t, p); !strings.Contains(said, "an unfinished reply: it stopped behind 1") {
			t.Errorf("HTTP/2 %v: %s", two, said)
		}
	}
}
