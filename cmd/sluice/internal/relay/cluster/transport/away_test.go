package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-go/sluice/internal/loopback"
)

// A NATS that accepts connections and says nothing, as one that stands still does: what a
// node sends, and the question whether it is connected, do not wait for it.
func TestSendDoesNotWaitForASilentNATS(t *testing.T) {
	l, err := net.Listen("tcp", loopback.Host()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, _ := open(t, Options{Node: "a", URL: "nats://" + l.Addr().String()})
	const tries = 5 // in one of them at least this process does not stand still itself
	for try := range tries {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan struct{})
		go func() { // the client gives up after some seconds
			io.Copy(io.Discard, conn)
			close(left)
		}()
		a.Send("", []byte("hello"))
		if a.Connected() || a.Links() != 0 {
			t.Error("it is connected to what has said nothing")
		}
		select {
		case <-left:
			if try == tries-1 {
				t.Error("each message has waited until the client gave up")
			}
			continue
		default:
		}
		conn.Close()
		<-left
		return
	}
}

// A node that ends while it connects to a NATS that says nothing does not wait for it.
func TestCloseDoesNotWaitForASilentNATS(t *testing.T) {
	l, err := net.Listen("tcp", loopback.Host()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, _ := open(t, Options{Node: "a", URL: "nats://" + l.Addr().String()})
	for range 2 { // Open itself has given the first one up
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	began := time.Now()
	a.Close()
	if took := time.Since(began); took > connectTimeout/2 {
		t.Errorf("Close took %v, as the connection does that was being made", took)
	}
}

// Nor does one that asks a DNS server that says nothing where its NATS is.
func TestCloseDoesNotWaitForASilentDNS(t *testing.T) {
	var silent atomic.Bool
	asked := make(chan struct{}, 1)
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if !silent.Load() {
			return nil, errors.New("out of reach")
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	a, _ := open(t, Options{Node: "a", URL: "nats://nats.invalid"})
	silent.Store(true)
	<-asked
	began := time.Now()
	a.Close()
	if took := time.Since(began); took > connectTimeout/2 {
		t.Errorf("Close took %v, as the answer does that does not come", took)
	}
}

// passwords starts a NATS server with one user.
func passwords(t *testing.T, port int, password string) *server.Server {
	t.Helper()
	return started(t, server.Options{Port: port, Username: "sluice", Password: password})
}

// A NATS refuses a node's password, again and again; the node says why it is not connected,
// and is when the password is right.
func TestNATSRefusesAndAccepts(t *testing.T) {
	s := passwords(t, server.RANDOM_PORT, "another")
	address := s.Addr().(*net.TCPAddr)
	url := "nats://sluice:right@" + address.String()
	a, _ := open(t, Options{Node: "a", URL: url})
	var attempts int64
	until(t, "four attempts", func() bool {
		v, err := s.Varz(nil)
		if err == nil {
			attempts = int64(v.TotalConnections)
		}
		return attempts >= 4
	})
	until(t, "it says why", func() bool {
		err := a.Stats().LastError.Err
		return err != nil && strings.Contains(strings.ToLower(err.Error()), "authorization")
	})
	if a.Connected() {
		t.Error("it is connected")
	}
	s.Shutdown()
	s.WaitForShutdown()
	passwords(t, address.Port, "right")
	until(t, "it is connected", a.Connected)
	if err := a.Stats().LastError.Err; err != nil {
		t.Errorf("with a connection it still says %v", err)
	}
}

// A NATS on which a node may not publish: it says so.
func TestNATSForbidsSubjects(t *testing.T) {
	s := started(t, server.Options{Port: server.RANDOM_PORT, Users: []*server.User{
		{Username: "sluice", Password: "right", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"sluice.>"}}}},
	}})
	a, _ := open(t, Options{Node: "a", URL: "nats://sluice:right@" + s.Addr().String()})
	until(t, "it says what it may not", func() bool {
		a.Send("", []byte("hello"))
		err := a.Stats().LastError.Err
		return err != nil && strings.Contains(strings.ToLower(err.Error()), "permissions violation")
	})
}

// A secret is changed on one node after another, first what is accepted and then what is
// used: two nodes that are a step apart hear each other, by whichever of them the connection
// was made, and answer each other's requests. Those that are two apart do not.
func TestASecretIsChangedStepByStep(t *testing.T) {
	next := []byte("the next secret of the tests, long enough")
	steps := []Options{{Secret: secret}, {Secret: secret, Accept: next}, {Secret: next, Accept: secret}, {Secret: next}}
	with := func(step int, node string, join ...string) Options {
		o := steps[step]
		o.Node, o.Join = node, join
		o.Answer = func(from string, body []byte) []byte { return append([]byte(from+" asks "), body...) }
		return o
	}
	for i := range steps {
		for k := range steps {
			a, inA := open(t, with(i, "a"))
			b, inB := open(t, with(k, "b", a.Address()))
			if i-k > 1 || k-i > 1 {
				until(t, "a refusal", func() bool { return a.Stats().Refused+b.Stats().Refused > 0 }) // by who sees the other's key first
				if a.Links()+b.Links() > 0 {
					t.Errorf("steps %d and %d are connected", i, k)
				}
				continue
			}
			inA.await(t, "b one", func() { b.Send("a", []byte("one")) })
			inB.await(t, "a all", func() { a.Send("", []byte("all")) })
			for _, x := range []struct {
				t        *Transport
				to, want string
			}{{a, "b", "a asks x"}, {b, "a", "b asks x"}} {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				answer, err := x.t.Request(ctx, x.to, []byte("x"))
				cancel()
				if err != nil || string(answer) != x.want {
					t.Errorf("steps %d and %d: %q, %v", i, k, answer, err)
				}
			}
			if s, r := a.Stats(), b.Stats(); s.Refused+r.Refused > 0 {
				t.Errorf("steps %d and %d: %d and %d messages are refused", i, k, s.Refused, r.Refused)
			}
		}
	}
}

// A node with another secret says so, too, when the others' servers do not let it in.
func TestAnotherSecretIsSeen(t *testing.T) {
	a, _ := open(t, Options{Node: "a"})
	x, _ := open(t, Options{Node: "x", Secret: []byte("some other secret"), Join: []string{a.Address()}})
	until(t, "it is counted", func() bool {
		st := x.Stats()
		return st.Refused > 0 && errors.Is(st.LastRefusal.Err, errPeer)
	})
}
