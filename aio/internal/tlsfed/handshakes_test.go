package tlsfed_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/aio/internal/tlsfed"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// running counts the goroutines that do handshakes.
func running() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "tlsfed.(*Handshakes).run(")
}

// waitRunning waits until so many do.
func waitRunning(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(atMost); running() != want; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines do handshakes, want %d", running(), want)
		}
	}
}

// mute is a client's connection on which it hears nothing.
type mute struct {
	net.Conn
	ended <-chan struct{}
}

func (m mute) Read([]byte) (int, error) {
	<-m.ended
	return 0, io.EOF
}

func TestHandshakesAreLimitedAndLeaveNoGoroutine(t *testing.T) {
	const limit = 2
	server, clientConfig := configs(t, tls.VersionTLS13)
	handshakes := &tlsfed.Handshakes{Limit: limit, Silence: time.Hour}
	ended := make(chan struct{})
	var stalled []*stalledClient
	for range 2 * limit {
		raw, end, _ := serveWith(t, server, 64<<10, handshakes)
		go tls.Client(mute{raw, ended}, clientConfig).Handshake()
		stalled = append(stalled, &stalledClient{raw, end})
	}
	waitRunning(t, limit)
	raw, waits, _ := serveWith(t, server, 64<<10, handshakes)
	client := tls.Client(raw, clientConfig)
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	if n := running(); n != limit {
		t.Errorf("%d goroutines", n)
	}
	for _, s := range stalled {
		s.conn.Close() // the server reads the end, and the next handshake starts
	}
	for _, s := range stalled {
		if err := result(t, s.ended); err == nil {
			t.Error("a handshake that stalled has succeeded")
		}
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	echo(t, client, 100)
	waitRunning(t, 0)
	client.Close()
	if err := result(t, waits); err != io.EOF {
		t.Error(err)
	}
	close(ended)
}

type stalledClient struct {
	conn  net.Conn
	ended chan error
}

// A callback of the program that waits is notified when the session is closed.
func TestEndOfAHandshakeInACallback(t *testing.T) {
	config := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		<-hello.Context().Done()
		return nil, context.Cause(hello.Context())
	}}
	_, clientConfig := configs(t, tls.VersionTLS13)
	reason := errors.New("the reason")
	for _, reasons := range [][]error{{reason}, {io.EOF, reason}} { // the peer may have ended before
		raw, ended, s := serve(t, config, 64<<10)
		go tls.Client(raw, clientConfig).Handshake()
		waitRunning(t, 1)
		for _, err := range reasons {
			s.session.End(err)
		}
		if err := result(t, ended); err != reason {
			t.Errorf("the server ends with %v", err)
		}
		waitRunning(t, 0)
	}
}

// When another one needs its place, a handshake whose peer sends next to nothing ends;
// one that waits for the program's callback goes on, and so does one that has the place
// for itself.
func TestSilentHandshakesGiveWay(t *testing.T) {
	server, clientConfig := configs(t, tls.VersionTLS13)
	called, answer := make(chan struct{}), make(chan struct{})
	waits := server.Clone()
	waits.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		close(called)
		<-answer
		return server, nil
	}
	handshakes := &tlsfed.Handshakes{Limit: 2, Silence: 50 * time.Millisecond}
	inCallback, _, _ := serveWith(t, waits, 64<<10, handshakes)
	slow := tls.Client(inCallback, clientConfig)
	slowShaken := make(chan error, 1)
	go func() { slowShaken <- slow.Handshake() }()
	<-called

	// Of a hello it sends a byte in each record, and never the last.
	dribbling, ended, _ := serveWith(t, server, 64<<10, handshakes)
	stop := make(chan struct{})
	dribbled := make(chan struct{})
	go func() {
		defer close(dribbled)
		tick := time.NewTicker(handshakes.Silence / 10)
		defer tick.Stop()
		for p := []byte{1, 0, 0xff, 0xff}; ; p = []byte{3} {
			for _, b := range p {
				if _, err := dribbling.Write([]byte{22, 3, 1, 0, 1, b}); err != nil {
					return
				}
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	waitRunning(t, 2)
	select {
	case err := <-ended:
		t.Fatalf("a handshake whose place nobody needs ends with %v", err)
	case <-time.After(4 * handshakes.Silence):
	}
	raw, _, _ := serveWith(t, server, 64<<10, handshakes)
	client := tls.Client(raw, clientConfig)
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	echo(t, client, 100)
	if err := result(t, ended); !errors.Is(err, op.ErrDeadline) {
		t.Errorf("the handshake that gave way ends with %v", err)
	}
	close(stop)
	<-dribbled
	close(answer)
	if err := <-slowShaken; err != nil {
		t.Errorf("a handshake that waited for the program: %v", err)
	}
	echo(t, slow, 100)
}

// slowLeaver is an Output whose Wake, the last that a handshake does, takes until goOn.
type slowLeaver struct {
	sink
	goOn chan struct{}
}

func (s slowLeaver) Wake() {
	s.woken <- struct{}{}
	<-s.goOn
}

// One handshake gives way to one that needs its place, also when it takes its time.
func TestOneHandshakeGivesWayToOne(t *testing.T) {
	config, _ := configs(t, tls.VersionTLS13)
	memory := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, memory)
	handshakes := &tlsfed.Handshakes{Limit: 3, Silence: 20 * time.Millisecond}
	out := slowLeaver{sink{make(chan struct{}, 4)}, make(chan struct{})}
	var sessions []*tlsfed.Session
	for range 4 {
		s := tlsfed.New(config, out, memory, handshakes, new(sync.WaitGroup))
		if _, err := s.Record([]byte{22, 3, 1, 0, 4, 1, 0, 0x10, 0}); err != nil { // the beginning of a hello
			t.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	<-out.woken
	select {
	case <-out.woken:
		t.Error("two handshakes give way to one")
	case <-time.After(4 * handshakes.Silence):
	}
	close(out.goOn)
	for _, s := range sessions {
		s.Close()
	}
	waitRunning(t, 0)
}

// Hundreds whose peers have begun and say no more wait for few places: who comes behind them has one
// of the next two that are free.
func TestAHandshakeBehindManySilentOnesIsSoonUnderWay(t *testing.T) {
	const places, many = 4, 300
	config, clientConfig := configs(t, tls.VersionTLS13)
	memory := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, memory)
	handshakes := &tlsfed.Handshakes{Limit: places, Silence: time.Hour}
	out := sink{make(chan struct{}, 2*many)}
	sessions := make([]*tlsfed.Session, many)
	for i := range sessions {
		sessions[i] = tlsfed.New(config, out, memory, handshakes, new(sync.WaitGroup))
		if _, err := sessions[i].Record([]byte{22, 3, 1, 0, 4, 1, 0, 0x10, 0}); err != nil { // the beginning of a hello
			t.Fatal(err)
		}
	}
	near, far := net.Pipe()
	go tls.Client(far, clientConfig).Handshake()
	hello := make([]byte, 16<<10)
	n, err := near.Read(hello)
	near.Close()
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	config = config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		close(begun)
		return nil, io.EOF
	}
	late := tlsfed.New(config, out, memory, handshakes, new(sync.WaitGroup))
	if _, err := late.Record(hello[:n]); err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions[:2] { // they have places
		s.End(io.ErrUnexpectedEOF)
	}
	select {
	case <-begun:
	case <-time.After(atMost / 6):
		t.Error("two places are free, and it has none of them")
	}
	for _, s := range append(sessions, late) {
		s.Close()
	}
	waitRunning(t, 0)
}

// A handshake that fails by itself says why, also when its end comes just before: then its context
// is done, which crypto/tls says instead.
func TestAHandshakeThatFailsBeforeItsEndSaysWhy(t *testing.T) {
	config, clientConfig := configs(t, tls.VersionTLS13)
	own := errors.New("the callback's own")
	for _, reason := range []error{net.ErrClosed, op.ErrDeadline} {
		sessions := make(chan *server, 1)
		config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			(<-sessions).session.End(reason)
			return nil, own
		}
		raw, ended, s := serve(t, config, 64<<10)
		sessions <- s
		go tls.Client(raw, clientConfig).Handshake()
		if err := result(t, ended); err != own {
			t.Errorf("with the end by %v the handshake fails with %v, want %v", reason, err, own)
		}
	}
}
