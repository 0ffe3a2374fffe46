package aio_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/internal/testcert"
)

// handshaking counts the goroutines that do handshakes.
func handshaking() int {
	b := make([]byte, 8<<20)
	return strings.Count(string(b[:runtime.Stack(b, true)]), "tlsfed.(*Handshakes).run(")
}

// Many handshakes, and as many connections that are open and idle, have no goroutine of
// the server's. SLUICE_HANDSHAKES is how many; 1,000 unless set, 300 under race.
func TestHandshakesLeaveNoGoroutine(t *testing.T) {
	n := 1000
	if sys.Race {
		n = 300
	}
	if s := os.Getenv("SLUICE_HANDSHAKES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			t.Fatalf("SLUICE_HANDSHAKES is %q", s)
		}
	}
	if limit := descriptorLimit(t); limit < 2*n+200 {
		n = (limit - 200) / 2
	}
	opened := make(chan *aio.Conn[int], n)
	h := &aio.ConnHandler[int]{
		TLS:  testcert.Server(t),
		Open: func(c *aio.Conn[int]) error { opened <- c; return nil },
		Data: func(c *aio.Conn[int], p []byte) error { _, err := c.Write(p); return err },
	}
	s := serveConns(t, h, aio.Server{Watchers: 2})
	s.dial().Close() // it serves
	<-opened
	before := runtime.NumGoroutine()
	clients := make([]net.Conn, n)
	var dialing sync.WaitGroup
	for part := range 8 {
		dialing.Go(func() {
			for i := part; i < n; i += 8 {
				c, err := net.Dial(s.network, s.addr)
				if err != nil {
					t.Error(err)
					return
				}
				secure := tls.Client(c, s.tls)
				if err := secure.Handshake(); err != nil {
					t.Errorf("handshake %d: %v", i, err)
					return
				}
				clients[i] = secure
			}
		})
	}
	dialing.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for range n {
		<-opened
	}
	for deadline := time.Now().Add(atMost); runtime.NumGoroutine() > before || handshaking() > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines do handshakes, %d more than before", handshaking(), runtime.NumGoroutine()-before)
		}
	}
	// A watcher gives back what its last results were lent when it sleeps.
	yieldUntil(t, "idle connections to hold 64 KiB at most", func() bool { return s.memory.Stats().OutBytes <= 64<<10 })
	converse(t, clients[n-1], 100)
	for _, c := range clients {
		c.Close()
	}
	s.end()
}

// A peer that says nothing, a part of a hello, or a hello and no more, is refused when
// its time is over.
func TestHandshakeTimeout(t *testing.T) {
	refused := make(closings, 3)
	h := &aio.ConnHandler[int]{
		TLS:              testcert.Server(t),
		HandshakeTimeout: 100 * time.Millisecond,
		Open:             func(*aio.Conn[int]) error { t.Error("opened"); return nil },
		Data:             func(*aio.Conn[int], []byte) error { return nil },
		Closed:           func(*aio.Conn[int], error) { t.Error("closed") },
		Refused: func(remote net.Addr, err error) {
			if remote == nil {
				t.Error("no address")
			}
			refused <- err
		},
	}
	s := serveConns(t, h, aio.Server{})
	silent := s.raw()
	part := s.raw()
	if _, err := part.Write([]byte{22, 3, 1, 2, 0, 1, 0}); err != nil {
		t.Fatal(err)
	}
	hello := s.raw()
	go tls.Client(silenced{hello}, s.tls).Handshake()
	for range 3 {
		if err := refused.wait(t); !timedOut(err, "the TLS handshake has been under way for 100ms") {
			t.Errorf("refused because of %v", err)
		}
	}
	for _, c := range []net.Conn{silent, part, hello} {
		_, _ = io.Copy(io.Discard, c)
	}
	s.end()
}

// A peer that ends its side behind its hello, or says more than is kept, has no more time: while the
// program's callback waits, and while it waits for a place.
func TestHandshakeTimeoutOfPeersThatAreNotRead(t *testing.T) {
	for _, driver := range driversHere(t) {
		config := testcert.Server(t)
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			<-hello.Context().Done()
			return nil, context.Cause(hello.Context())
		}
		const peers = 4
		refused := make(closings, peers)
		s := serveConns(t, &aio.ConnHandler[int]{
			TLS: config, Handshakes: 1, HandshakeTimeout: 100 * time.Millisecond,
			Data:    func(*aio.Conn[int], []byte) error { return nil },
			Refused: func(_ net.Addr, err error) { refused <- err },
		}, aio.Server{Options: aio.Options{Driver: driver}})
		hello := clientHello(t, s.tls)
		long := slices.Concat(hello, bytes.Repeat(append([]byte{22, 3, 3, 16 << 10 >> 8, 0}, make([]byte, 16<<10)...), 10))
		for i := range peers {
			c := s.raw()
			if i%2 == 0 {
				go c.Write(long) // not all of it is read
				continue
			}
			if _, err := c.Write(hello); err != nil {
				t.Fatal(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		for range peers {
			if err := refused.wait(t); !timedOut(err, "the TLS handshake has been under way for 100ms") {
				t.Errorf("%v: refused because of %v", driver, err)
			}
		}
		s.end()
	}
}

// The shorter of two limits holds for a peer that does not begin its handshake.
func TestIdleTimeoutInTheHandshake(t *testing.T) {
	const short, long = 20 * time.Millisecond, time.Hour
	for _, driver := range driversHere(t) {
		for _, limits := range [][2]time.Duration{{short, long}, {long, short}} {
			refused := make(closings, 1)
			s := serveConns(t, &aio.ConnHandler[int]{
				TLS:         testcert.Server(t),
				IdleTimeout: limits[0], HandshakeTimeout: limits[1],
				Data:    func(*aio.Conn[int], []byte) error { return nil },
				Refused: func(_ net.Addr, err error) { refused <- err },
			}, aio.Server{Options: aio.Options{Driver: driver}})
			checkEnded(t, s.raw())
			if err := refused.wait(t); !timedOut(err, " for 20ms") {
				t.Errorf("%v, idle %v, handshake %v: refused because of %v", driver, limits[0], limits[1], err)
			}
			s.end()
		}
	}
}

// silenced is a client's connection whose Read returns nothing until the end.
type silenced struct{ net.Conn }

func (c silenced) Read([]byte) (int, error) {
	_, _ = io.Copy(io.Discard, c.Conn)
	return 0, io.EOF
}

// Refusals say why, and the peer gets the alert.
func TestRefusedHandshakes(t *testing.T) {
	refused := make(closings, 10)
	config := testcert.Server(t)
	config.MinVersion = tls.VersionTLS13
	h := &aio.ConnHandler[int]{
		TLS:     config,
		Open:    func(*aio.Conn[int]) error { t.Error("opened"); return nil },
		Data:    func(*aio.Conn[int], []byte) error { return nil },
		Refused: func(_ net.Addr, err error) { refused <- err },
	}
	s := serveConns(t, h, aio.Server{})
	old := testcert.Client(t)
	old.MaxVersion = tls.VersionTLS12
	err := tls.Client(s.raw(), old).Handshake()
	var alert *net.OpError
	if !errors.As(err, &alert) || !strings.Contains(alert.Error(), "protocol version") {
		t.Errorf("a client of TLS 1.2 gets %v", err)
	}
	if err := refused.wait(t); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("refused because of %v", err)
	}
	web := s.raw()
	if _, err := io.WriteString(web, "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var header tls.RecordHeaderError
	if err := refused.wait(t); !errors.As(err, &header) {
		t.Errorf("refused because of %v", err)
	}
	checkEnded(t, web)
	gone := s.raw()
	gone.Close()
	if err := refused.wait(t); err != io.EOF {
		t.Errorf("refused because of %v", err)
	}
	s.end()
}

// The state of the handshake is there for Open, and a client's half-close is answered.
func TestTLSStateAndHalfClose(t *testing.T) {
	config := testcert.Server(t)
	config.NextProtos = []string{"sluice"}
	closed := make(closings, 1)
	h := &aio.ConnHandler[int]{
		TLS: config,
		Open: func(c *aio.Conn[int]) error {
			state, ok := c.ConnectionState()
			if !ok || state.NegotiatedProtocol != "sluice" || state.ServerName != "peer" {
				t.Errorf("%v, protocol %q, name %q", ok, state.NegotiatedProtocol, state.ServerName)
			}
			return nil
		},
		Data:   func(c *aio.Conn[int], p []byte) error { _, err := c.Write(p); return err },
		Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
	}
	s := serveConns(t, h, aio.Server{})
	s.tls.NextProtos = []string{"sluice"}
	client := s.dial().(*tls.Conn)
	said := strings.Repeat("half", 100_000)
	go func() {
		_, _ = io.WriteString(client, said)
		_ = client.CloseWrite()
	}()
	heard, err := io.ReadAll(client)
	if err != nil || string(heard) != said {
		t.Errorf("%d bytes of %d, %v", len(heard), len(said), err)
	}
	if err := closed.wait(t); err != io.EOF {
		t.Errorf("the reason is %v", err)
	}
	s.end()
}

// A connection that breaks off within a record has not ended well.
func TestTLSEndWithinARecord(t *testing.T) {
	h, closed := echoHandler(t, testcert.Server(t), false)
	s := serveConns(t, h, aio.Server{})
	raw := s.raw()
	client := tls.Client(raw, s.tls)
	converse(t, client, 10)
	if _, err := raw.Write([]byte{23, 3, 3, 0, 100, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	if err := closed.wait(t); err != io.ErrUnexpectedEOF {
		t.Errorf("the reason is %v", err)
	}
	s.end()
}

// A record of which the header has come holds what has come, whatever it promises.
func TestMemoryOfRecordsThatAreNotWhole(t *testing.T) {
	const n = 100
	h, closed := echoHandler(t, testcert.Server(t), false)
	s := serveConns(t, h, aio.Server{})
	var clients []net.Conn
	for range n {
		raw := s.raw()
		converse(t, tls.Client(raw, s.tls), 10)
		if _, err := raw.Write([]byte{23, 3, 3, 0x40, 0, 1, 2, 3}); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, raw)
	}
	for deadline := time.Now().Add(atMost); s.memory.Stats().OutBytes < n<<10; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes for the beginnings of %d records", s.memory.Stats().OutBytes, n)
		}
	}
	if held := s.memory.Stats().OutBytes; held > n<<10+128<<10 {
		t.Errorf("8 bytes of each of %d connections hold %d", n, held)
	}
	for _, c := range clients {
		c.Close()
		closed.wait(t)
	}
	s.end()
}
