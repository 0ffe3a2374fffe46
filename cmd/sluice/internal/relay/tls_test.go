package relay

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/internal/testcert"
)

// startTLS runs a server with HTTPS, and returns its address.
func startTLS(t *testing.T, change func(*relayConfig)) (s *relayServer, address, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	testcert.WriteNew(t, cert, key, 1)
	s = startRelay(t, func(c *relayConfig) {
		c.HTTPS, c.Cert, c.Key = "127.0.0.1:0", cert, key
		if change != nil {
			change(c)
		}
	})
	return s, s.Addresses()["https"], cert, key
}

// tlsSerial connects and returns the serial number of the certificate, and the
// protocol that was agreed on.
func tlsSerial(t *testing.T, address string) (int64, string) {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	state := conn.ConnectionState()
	return state.PeerCertificates[0].SerialNumber.Int64(), state.NegotiatedProtocol
}

func TestMediaOverTLS(t *testing.T) {
	s, address, _, _ := startTLS(t, nil)
	if _, protocol := tlsSerial(t, address); protocol != "http/1.1" {
		t.Errorf("the protocol is %q", protocol)
	}
	insecure := &tls.Config{InsecureSkipVerify: true}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
	want := flvtest.Clip(t)[:100]
	r, w := io.Pipe()
	answer := make(chan string, 1)
	go func() {
		resp, err := client.Post("https://"+address+"/live/s.flv", "video/x-flv", r)
		if err != nil {
			answer <- err.Error()
			return
		}
		resp.Body.Close()
		answer <- resp.Proto + " " + resp.Status
	}()
	w.Write(flvtest.Header)
	relayEventually(t, "the stream", func() bool { return len(s.host.Hub.Streams()) == 1 })
	media := make(chan io.Reader, 1)
	go func() {
		resp, err := client.Get("https://" + address + "/live/s.flv")
		if err != nil {
			t.Error(err)
			media <- strings.NewReader("")
			return
		}
		media <- resp.Body
	}()
	socket, _, err := (&websocket.Dialer{TLSClientConfig: insecure}).Dial("wss://"+address+"/live/s.flv", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	s.viewersOf(t, "live/s", 2)
	for _, g := range want {
		w.Write(g.Append(nil))
	}
	for name, flv := range map[string]*flvtest.Reader{"flvs": flvtest.NewReader(<-media), "wss": flvtest.NewReader(&socketReader{socket: socket})} {
		for i, g := range want {
			if got, err := flv.Next(); err != nil || got != g {
				t.Fatalf("%s: tag %d: %v", name, i, err)
			}
		}
	}
	w.Close()
	if got := <-answer; got != "HTTP/1.1 200 OK" {
		t.Errorf("the publisher: %s", got)
	}
	s.log.line(t, "publisher started", "protocol=flvs")
	s.log.line(t, "viewer started", "protocol=flvs")
	s.log.line(t, "viewer started", "protocol=wss")
}

func TestCertificateIsReadAgain(t *testing.T) {
	s, address, cert, key := startTLS(t, nil)
	if n, _ := tlsSerial(t, address); n != 1 {
		t.Fatalf("serial %d", n)
	}
	testcert.WriteNew(t, cert, key, 2)
	if n, _ := tlsSerial(t, address); n != 1 {
		t.Errorf("serial %d before it is time to look", n)
	}
	if _, _, err := s.Reload(*s.host.Config()); err != nil {
		t.Error(err)
	}
	if n, _ := tlsSerial(t, address); n != 2 {
		t.Errorf("serial %d after Reload", n)
	}
	// What is no certificate does not replace one.
	if err := os.WriteFile(cert, []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Reload(*s.host.Config()); err == nil || !strings.HasPrefix(err.Error(), "cert: certificate ") {
		t.Errorf("a bad file: %v", err)
	}
	if n, _ := tlsSerial(t, address); n != 2 {
		t.Errorf("serial %d after a bad file", n)
	}
}

// TLS that is taken out of the configuration ends with a restart, as other addresses: until
// then its listeners keep their certificate, and what else has changed applies.
func TestReloadWithoutTLS(t *testing.T) {
	s, address, _, _ := startTLS(t, nil)
	next := *s.host.Config()
	next.HTTPS, next.RTMPS, next.RTSPS, next.Cert, next.Key, next.MaxViewers = "off", "off", "off", "", "", 7
	_, waiting, err := s.Reload(next)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(waiting, "https") || s.host.Config().MaxViewers != 7 {
		t.Errorf("%q wait, max-viewers is %d", waiting, s.host.Config().MaxViewers)
	}
	if n, err := tlsSerial(t, address); n != 1 {
		t.Errorf("serial %d, %v", n, err)
	}
}

func TestNewWithoutACertificate(t *testing.T) {
	c := config.Default()
	c.HTTPS, c.Cert, c.Key = ":0", filepath.Join(t.TempDir(), "none"), "none"
	if _, err := New(c, Options{}); err == nil || !strings.HasPrefix(err.Error(), "cert: certificate ") {
		t.Errorf("%v", err)
	}
}

// Handshake and header together have no more time than the header alone.
func TestSlowTLSHandshakes(t *testing.T) {
	const limit = 500 * time.Millisecond
	_, address, _, _ := startTLS(t, func(c *relayConfig) { c.times.Header = limit })
	var began time.Time // before the connection
	for name, attack := range map[string]func(net.Conn){
		"silence":      func(net.Conn) {},
		"half a hello": func(c net.Conn) { c.Write([]byte{22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3}) },
		"silence after the handshake": func(c net.Conn) {
			if err := tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake(); err != nil && time.Since(began) < limit {
				t.Error(err)
			}
		},
	} {
		began = time.Now()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(relayWait))
		attack(conn)
		if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
			t.Errorf("%s: not closed", name)
		}
		conn.Close()
	}
}

// Deadlines pass while a publisher sends at its own pace, over TLS in the
// middle of records too: nothing is lost by that.
func TestPublisherWithPausesOverTLS(t *testing.T) {
	s, address, _, _ := startTLS(t, func(c *relayConfig) {
		c.times.Silence, c.times.Rate = relayWait, relayWait
		c.times.Step = time.Millisecond
	})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	want := flvtest.Clip(t)[:60]
	file := append([]byte(nil), flvtest.Header...)
	for _, g := range want {
		file = g.Append(file)
	}
	for _, url := range []string{"https://" + address, "http://" + s.http} {
		r, w := io.Pipe()
		go func() {
			tick := time.NewTicker(3 * time.Millisecond)
			defer tick.Stop()
			for rest := file; len(rest) > 0; {
				n := min(len(rest), 1+len(file)/100)
				w.Write(rest[:n])
				rest = rest[n:]
				<-tick.C
			}
			w.Close()
		}()
		resp, err := client.Post(url+"/live/s.flv", "video/x-flv", r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(text), `"frames":60}`) {
			t.Errorf("%s: %s %s", url, resp.Status, text)
		}
		relayEventually(t, "the end", func() bool { return len(s.host.Hub.Streams()) == 0 })
	}
}
