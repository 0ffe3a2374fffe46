package aio

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Handshakes that wait for a place have what their peers began with, and may have all of the budget
// so. The one that has the place needs more bytes of its peer, and is given no memory before the
// others are done, which wait for it: it goes on without, and so do all, one after the other.
func TestHandshakesGoOnWhenOthersHaveTheMemory(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			const conns = 40
			memory := mem.New(mem.Options{Name: "hellos", Budget: 16 << 10, Leak: mem.LeakTrace})
			sluicetest.NoLeaks(t, memory)
			config := testcert.Server(t)
			config.MaxVersion = version
			var first sync.Once
			config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
				first.Do(func() { // it has the place until the others have the memory
					tick := time.NewTicker(time.Millisecond)
					defer tick.Stop()
					for b := memory.Stats().Budget; b.Charged < b.Limit+8<<10; b = memory.Stats().Budget {
						select {
						case <-tick.C:
						case <-t.Context().Done():
							return
						}
					}
				})
				return nil, nil
			}
			h := &ConnHandler[int]{
				TLS: config, Handshakes: 1, HandshakeTimeout: 30 * time.Second,
				Data: func(c *Conn[int], p []byte) error {
					_, err := c.Write(p)
					return err
				},
				Refused: func(_ net.Addr, err error) { t.Errorf("a handshake is refused: %v", err) },
			}
			h.handshakes.Silence = time.Hour
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- Serve(ctx, []net.Listener{l}, Options{Allocator: memory}, h) }()
			var clients sync.WaitGroup
			for range conns {
				clients.Go(func() {
					c, err := tls.Dial("tcp", l.Addr().String(), testcert.Client(t))
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					if _, err := c.Write([]byte("x")); err != nil {
						t.Error(err)
					}
					if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
						t.Error(err)
					}
				})
			}
			clients.Wait()
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// What clients have said that wait for a place has all of the budget: connections that are served
// already go on, also with records that come in part, and do not wait for the places.
func TestConnsGoOnWhenWaitingHandshakesHaveTheMemory(t *testing.T) {
	const waiting, size = 60, 300_000
	memory := mem.New(mem.Options{Name: "hellos", Budget: 64 << 10, Leak: mem.LeakTrace})
	sluicetest.NoLeaks(t, memory)
	config, places := testcert.Server(t), make(chan struct{})
	handshakes := 0 // one runs at a time
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if handshakes++; handshakes == 2 { // it keeps the place
			<-places
		}
		return nil, nil
	}
	h := &ConnHandler[int]{
		TLS: config, Handshakes: 1, HandshakeTimeout: time.Minute,
		Data: func(c *Conn[int], p []byte) error {
			_, err := c.Write(p)
			return err
		},
	}
	h.handshakes.Silence = time.Hour
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, []net.Listener{l}, Options{Allocator: memory}, h) }()
	served, err := tls.Dial("tcp", l.Addr().String(), testcert.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	var others sync.WaitGroup
	for range waiting {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		others.Go(func() { _ = tls.Client(c, testcert.Client(t)).Handshake() })
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for b := memory.Stats().Budget; b.Charged < b.Limit+8<<10; b = memory.Stats().Budget {
		<-tick.C
	}
	sent := make(chan error, 1)
	go func() {
		_, err := served.Write(make([]byte, size))
		sent <- err
	}()
	if err := served.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(served, make([]byte, size)); err != nil {
		t.Errorf("of %d bytes %d are back: %v", size, n, err)
	}
	close(places)
	if err := <-sent; err != nil {
		t.Error(err)
	}
	others.Wait()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The program has all of the memory, for longer than a handshake may take: one that has its place goes
// on without, since others wait for that.
func TestAHandshakeGoesOnWhenTheProgramHasTheMemory(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			const budget = 64 << 10
			memory := mem.New(mem.Options{Name: "program", Budget: budget, Leak: mem.LeakTrace})
			sluicetest.NoLeaks(t, memory)
			config := testcert.Server(t)
			config.MaxVersion = version
			var all mem.Buf
			config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
				all = memory.Get(2 * budget)
				return nil, nil
			}
			opened := make(chan error, 1)
			h := &ConnHandler[int]{
				TLS: config, Handshakes: 1, HandshakeTimeout: 5 * time.Second,
				Open:    func(*Conn[int]) error { opened <- nil; return nil },
				Data:    func(*Conn[int], []byte) error { return nil },
				Refused: func(_ net.Addr, err error) { opened <- err },
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- Serve(ctx, []net.Listener{l}, Options{Allocator: memory}, h) }()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := tls.Client(inBytes{c}, testcert.Client(t)).Handshake(); err != nil {
				t.Error(err)
			}
			if err := <-opened; err != nil {
				t.Errorf("the handshake is refused: %v", err)
			}
			all.Release()
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// inBytes sends each byte by itself, which the server needs many reads for.
type inBytes struct{ net.Conn }

func (c inBytes) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// When Serve has returned no handshake uses the program's tls.Config or its memory any more.
func TestServeWaitsForHandshakes(t *testing.T) {
	memory := mem.New(mem.Options{Name: "hellos", Leak: mem.LeakTrace})
	sluicetest.NoLeaks(t, memory)
	ctx, stop := context.WithCancel(t.Context())
	returned := make(chan struct{})
	var clients sync.WaitGroup
	config := testcert.Server(t)
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		stop()
		<-hello.Context().Done()
		select {
		case <-returned:
			t.Error("Serve has returned")
		case <-time.After(100 * time.Millisecond):
		}
		return nil, hello.Context().Err()
	}
	h := &ConnHandler[int]{TLS: config, Handshakes: 1, Data: func(*Conn[int], []byte) error { return nil }}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for range 4 { // three wait for the place
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients.Go(func() { _ = tls.Client(c, testcert.Client(t)).Handshake() })
	}
	err = Serve(ctx, []net.Listener{l}, Options{Allocator: memory}, h)
	close(returned)
	if err != nil {
		t.Error(err)
	}
	if b := memory.Stats().Budget; b.Charged != 0 {
		t.Errorf("%d bytes are charged", b.Charged)
	}
	clients.Wait()
}

// A handshake that waits for memory, since it has no place yet, goes on without when it is given one,
// also when the program keeps all of the memory: others wait for the place.
func TestAHandshakeThatStarvedGoesOnWithItsPlace(t *testing.T) {
	const budget = 64 << 10
	memory := mem.New(mem.Options{Name: "starved", Budget: budget, Leak: mem.LeakTrace})
	sluicetest.NoLeaks(t, memory)
	config, shaking, goOn := testcert.Server(t), make(chan struct{}), make(chan struct{})
	var first sync.Once
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		first.Do(func() { // it keeps the place
			close(shaking)
			<-goOn
		})
		return nil, nil
	}
	h := &ConnHandler[int]{
		TLS: config, Handshakes: 1, HandshakeTimeout: 10 * time.Second,
		Data: func(*Conn[int], []byte) error { return nil },
	}
	var w *Watcher
	s := &Server{Options: Options{Allocator: memory}, Handler: h, Started: func(started *Watcher, _ net.Listener) error {
		w = started
		return nil
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, []net.Listener{l}) }()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	shaken := make(chan error, 2)
	shake := func(c net.Conn) { shaken <- tls.Client(c, testcert.Client(t)).Handshake() }
	go shake(dial())
	<-shaking
	all := memory.Get(2 * budget)
	raw, starves := dial(), make(chan struct{})
	go shake(&inTwoRecords{Conn: raw, goOn: starves})
	waitStarving(t, w, h)
	close(starves) // what follows now is not read before there is memory, or a place
	close(goOn)
	for range 2 {
		if err := <-shaken; err != nil {
			t.Error(err)
		}
	}
	all.Release()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// waitStarving waits until a connection of h waits for memory.
func waitStarving(t *testing.T, w *Watcher, h *ConnHandler[int]) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for starving := false; !starving; <-tick.C {
		looked := make(chan bool)
		if err := w.driver.Post(func() {
			s := &h.loopOf(w).starved
			s.mu.Lock()
			defer s.mu.Unlock()
			looked <- s.feeding
		}, nil, nil); err != nil {
			t.Fatal(err)
		}
		starving = <-looked
	}
}

// inTwoRecords sends its first record, a client's hello, as two, the second after goOn.
type inTwoRecords struct {
	net.Conn
	goOn  <-chan struct{}
	begun bool
}

func (c *inTwoRecords) Write(p []byte) (int, error) {
	const head, part = 5, 64
	if c.begun {
		return c.Conn.Write(p)
	}
	c.begun = true
	for i, content := range [][]byte{p[head : head+part], p[head+part:]} {
		if i == 1 {
			<-c.goOn
		}
		record := append([]byte{p[0], p[1], p[2], byte(len(content) >> 8), byte(len(content))}, content...)
		if _, err := c.Conn.Write(record); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
