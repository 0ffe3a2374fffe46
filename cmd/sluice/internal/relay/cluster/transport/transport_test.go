package transport

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice/internal/loopback"
)

const limit = 2 * time.Minute

var secret = []byte("a secret of the tests, long enough")

// inbox collects what a transport receives.
type inbox struct {
	mu   sync.Mutex
	got  []string
	came chan struct{}
}

func (b *inbox) receive(from string, body []byte) {
	b.mu.Lock()
	b.got = append(b.got, from+" "+string(body))
	b.mu.Unlock()
	select {
	case b.came <- struct{}{}:
	default:
	}
}

func (b *inbox) count(message string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, m := range b.got {
		if m == message {
			n++
		}
	}
	return n
}

// await repeats do until a message has come.
func (b *inbox) await(t *testing.T, message string, do func()) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for b.count(message) == 0 {
		do()
		select {
		case <-b.came:
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%q has not come within %v, but %q", message, limit, b.got)
		}
	}
}

// until waits until what holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
		<-tick.C
	}
}

func open(t *testing.T, o Options) (*Transport, *inbox) {
	t.Helper()
	b := &inbox{came: make(chan struct{}, 1)}
	o.Run, o.Receive = 1, b.receive
	if o.Secret == nil {
		o.Secret = secret
	}
	if o.URL == "" && o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	tr, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	return tr, b
}

// Three nodes, of which the last knows only the second: each hears the others.
func TestNodesFindOneAnother(t *testing.T) {
	a, inA := open(t, Options{Node: "a"})
	b, inB := open(t, Options{Node: "b", Join: []string{a.Address()}})
	c, inC := open(t, Options{Node: "c", Join: []string{"127.0.0.1:1", b.Address()}})
	inA.await(t, "c all", func() { c.Send("", []byte("all")) })
	inC.await(t, "a all", func() { a.Send("", []byte("all")) })
	inB.await(t, "a one", func() { a.Send("b", []byte("one")) })
	if inC.count("a one") > 0 || inA.count("a one") > 0 || inA.count("a all") > 0 {
		t.Error("a message has come to a node that it was not sent to")
	}
	if s := a.Stats(); s.Refused > 0 || s.Received == 0 || s.Sent == 0 {
		t.Errorf("%+v", s)
	}
	b.Close() // the others stay connected
	n := inC.count("a more")
	inC.await(t, "a more", func() { a.Send("", []byte("more")) })
	if inC.count("a more") == n || !a.Connected() {
		t.Error("a and c have lost each other")
	}
}

// Without the secret no node joins, and no port serves clients.
func TestStrangersStayOutside(t *testing.T) {
	a, inA := open(t, Options{Node: "a"})
	x, inX := open(t, Options{Node: "x", Secret: []byte("some other secret"), Join: []string{a.Address()}})
	b, _ := open(t, Options{Node: "b", Join: []string{a.Address()}})
	inA.await(t, "b hello", func() {
		b.Send("", []byte("hello"))
		x.Send("", []byte("hello"))
	})
	if inA.count("x hello") > 0 || len(inX.got) > 0 || x.Links() > 0 {
		t.Error("a node with another secret has joined")
	}
	for _, url := range []string{"nats://" + a.Address(), a.engine.server.ClientURL(), "nats://node:x@" + a.engine.server.Addr().String()} {
		if conn, err := nats.Connect(url, nats.Timeout(time.Second)); err == nil {
			conn.Close()
			t.Errorf("%s serves clients", url)
		}
	}
	for _, address := range []string{a.Address(), a.engine.server.Addr().String()} {
		if host, _, _ := net.SplitHostPort(address); host != "127.0.0.1" {
			t.Errorf("it listens on %s", address)
		}
	}
}

// outside starts a NATS server that everybody may use.
func outside(t *testing.T, port int) *server.Server {
	t.Helper()
	return started(t, server.Options{Port: port})
}

// started starts a NATS server with these options on a loopback address.
func started(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoSigs, o.NoLog = loopback.Host(), true, true
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(limit) {
		t.Fatal("NATS does not start")
	}
	return s
}

// On an outside NATS that everybody may use, messages of others, altered and
// repeated ones do not count.
func TestOutsideNATS(t *testing.T) {
	s := outside(t, server.RANDOM_PORT)
	a, inA := open(t, Options{Node: "a", URL: s.ClientURL()})
	b, _ := open(t, Options{Node: "b", URL: s.ClientURL()})
	x, _ := open(t, Options{Node: "x", URL: s.ClientURL(), Secret: []byte("some other secret")})
	spy, err := nats.Connect(s.ClientURL(), nats.Timeout(limit))
	if err != nil {
		t.Fatal(err)
	}
	defer spy.Close()
	var heard []*nats.Msg
	var mu sync.Mutex
	if _, err := spy.Subscribe("sluice.>", func(m *nats.Msg) {
		mu.Lock()
		heard = append(heard, m)
		mu.Unlock()
	}); err != nil {
		t.Fatal(err)
	}
	spy.Flush()
	sent := 0
	inA.await(t, "b once", func() {
		if inA.count("b once") == 0 {
			b.Send("a", []byte("once"))
			b.Flush()
			sent++
		}
	})
	x.Send("", []byte("forged"))
	x.Flush()
	until(t, "the spy has heard b and x", func() bool {
		mu.Lock()
		defer mu.Unlock()
		of := func(subject string) bool {
			return slices.ContainsFunc(heard, func(m *nats.Msg) bool { return m.Subject == subject })
		}
		return of("sluice.ctl.a") && of("sluice.node.x")
	})
	mu.Lock()
	for _, m := range heard {
		spy.Publish(m.Subject, m.Data)      // again
		spy.Publish("sluice.ctl.a", m.Data) // to another
		altered := append([]byte(nil), m.Data...)
		altered[len(altered)-1] ^= 1
		spy.Publish("sluice.node.b", altered)
	}
	mu.Unlock()
	spy.Flush()
	inA.await(t, "b last", func() { b.Send("", []byte("last")) })
	if n := inA.count("b once"); n > sent {
		t.Errorf("a message that was sent %d times came %d times", sent, n)
	}
	if inA.count("x forged") > 0 {
		t.Error("a forged message came")
	}
	until(t, "three are refused", func() bool { return a.Stats().Refused >= 3 })
	if st := a.Stats(); st.LastRefusal.Err == nil || time.Since(st.LastRefusal.At) > time.Hour {
		t.Errorf("%+v", st)
	}
}

// A NATS that is away is no error; messages come when it is there.
func TestOutsideNATSGoesAway(t *testing.T) {
	s := outside(t, server.RANDOM_PORT)
	url := s.ClientURL()
	port := s.Addr().(*net.TCPAddr).Port
	a, inA := open(t, Options{Node: "a", URL: url})
	b, _ := open(t, Options{Node: "b", URL: url})
	inA.await(t, "b one", func() { b.Send("", []byte("one")) })
	s.Shutdown()
	s.WaitForShutdown()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for a.Connected() {
		if time.Now().After(deadline) {
			t.Fatal("it does not notice that NATS is away")
		}
		<-tick.C
	}
	if a.Links() != 0 {
		t.Error("it counts a link")
	}
	outside(t, port)
	inA.await(t, "b two", func() { b.Send("", []byte("two")) })
}

func TestWhatCannotStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := Options{Node: "a", Run: 1, Secret: secret, Receive: func(string, []byte) {}}
	for _, address := range []string{l.Addr().String(), "127.0.0.1", "127.0.0.1:x"} {
		o.Listen = address
		if tr, err := Open(o); !errors.Is(err, ErrStart) {
			t.Errorf("%s: %v", address, err)
			if tr != nil {
				tr.Close()
			}
		}
	}
	for _, name := range []string{"", "a.b", "a b", "*", ">", "é"} {
		if err := CheckName(name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A node whose connections come from another address than it listens on, as on a machine with
// several, is reached by those that it does not know of.
func TestNodeThatListensOnAnotherAddress(t *testing.T) {
	for _, address := range []string{"127.77.0.3:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) { anotherAddress(t, address) })
	}
}

func anotherAddress(t *testing.T, address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("this machine does not have the address: ", err)
	}
	l.Close()
	a, inA := open(t, Options{Node: "a"})
	b, _ := open(t, Options{Node: "b", Join: []string{a.Address()}})
	until(t, "a and b are connected", func() bool { return b.Links() > 0 })
	c, inC := open(t, Options{Node: "c", Listen: address, Join: []string{b.Address()}})
	d, _ := open(t, Options{Node: "d", Join: []string{c.Address()}})
	inA.await(t, "d all", func() { d.Send("", []byte("all")) })
	inA.await(t, "c all", func() { c.Send("", []byte("all")) })
	inC.await(t, "a all", func() { a.Send("", []byte("all")) })
}
