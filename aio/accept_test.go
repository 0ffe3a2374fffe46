package aio_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/sluicetest"
)

// shares is a Server's watchers, and how its connections are spread among them.
type shares struct {
	mu       sync.Mutex
	watchers []*aio.Watcher
}

func (s *shares) started(w *aio.Watcher, _ net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, w)
	return nil
}

// counts returns how many connections each watcher has, once they are so many.
func (s *shares) counts(t *testing.T, all int) []int {
	t.Helper()
	for deadline := time.Now().Add(atMost); ; runtime.Gosched() {
		var counts []int
		sum := 0
		s.mu.Lock()
		for _, w := range s.watchers {
			counts = append(counts, w.Stats().Conns)
			sum += counts[len(counts)-1]
		}
		s.mu.Unlock()
		if sum == all {
			return counts
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v connections, want %d", counts, all)
		}
	}
}

// foreign is a listener of another type than those of package net.
type foreign struct{ net.Listener }

func TestConnectionsGoToTheWatcherThatHasTheFewest(t *testing.T) {
	const n, watchers = 1000, 4
	if limit := descriptorLimit(t); limit < 2*n+100 {
		t.Skipf("%d descriptors are too few", limit)
	}
	seed := sluicetest.Seed(t)
	for name, listen := range map[string]func(t *testing.T) []net.Listener{
		"tcp":          func(t *testing.T) []net.Listener { return listenOn(t, 1) },
		"2 listeners":  func(t *testing.T) []net.Listener { return listenOn(t, 2) },
		"unix":         func(t *testing.T) []net.Listener { return []net.Listener{unixListener(t)} },
		"of one's own": func(t *testing.T) []net.Listener { return []net.Listener{foreign{listenOn(t, 1)[0]}} },
	} {
		t.Run(name, func(t *testing.T) {
			listeners := listen(t)
			var s shares
			network, addr := listeners[0].Addr().Network(), listeners[0].Addr().String()
			server := serve(t, &aio.Server{Handler: &echoes{}, Watchers: watchers, Started: s.started}, listeners)
			server.addrs = nil
			dice := rand.New(rand.NewPCG(seed, 1))
			var conns []net.Conn
			defer func() {
				for _, c := range conns {
					c.Close()
				}
			}()
			for round := range 3 {
				for len(conns) < n {
					c, err := net.Dial(network, addr)
					if err != nil {
						t.Fatal(err)
					}
					conns = append(conns, c)
				}
				counts := s.counts(t, n)
				if most := slices.Max(counts); len(counts) != watchers || float64(most) > 1.1*n/watchers {
					t.Errorf("round %d: %v connections on the watchers", round, counts)
				}
				// Most leave, more of one watcher than of another.
				dice.Shuffle(len(conns), func(i, j int) { conns[i], conns[j] = conns[j], conns[i] })
				for _, c := range conns[n/5:] {
					c.Close()
				}
				conns = conns[:n/5]
				s.counts(t, n/5)
			}
			server.stop()
			if err := server.wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// hasIPv6 says that this machine has the address ::1.
func hasIPv6() bool {
	addrs, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(net.IPv6loopback)
	})
}

// addresses is a handler that says what it knows of each connection.
type addresses struct{ conns chan net.Conn }

func (a addresses) Accepted(_ *aio.Watcher, conn net.Conn)    { a.conns <- conn }
func (a addresses) Completed(w *aio.Watcher, r *aio.OpResult) { w.Free(r.Conn) }

func TestAddressesOfAcceptedConnections(t *testing.T) {
	for _, c := range []struct{ network, addr string }{
		{"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}, {"tcp", ":0"}, {network: "unix"},
	} {
		t.Run(c.network, func(t *testing.T) {
			var l net.Listener
			if c.network == "unix" {
				l = unixListener(t)
			} else {
				var err error
				if l, err = net.Listen(c.network, c.addr); err != nil {
					if c.network == "tcp6" && !hasIPv6() {
						t.Skip(err)
					}
					t.Fatal(err)
				}
			}
			h := addresses{make(chan net.Conn, 1)}
			server := serve(t, &aio.Server{Handler: h}, []net.Listener{l})
			server.addrs = nil
			to := l.Addr().String()
			if c.network == "tcp" {
				to = fmt.Sprintf("127.0.0.1:%d", l.Addr().(*net.TCPAddr).Port)
			}
			client := dialTo(t, c.network, to)
			conn := <-h.conns
			if c.network != "unix" && (conn.RemoteAddr().String() != client.LocalAddr().String() || conn.RemoteAddr().Network() != "tcp") {
				t.Errorf("the peer is %v, want %v", conn.RemoteAddr(), client.LocalAddr())
			}
			if conn.LocalAddr().String() != client.RemoteAddr().String() {
				t.Errorf("the own end is %v, want %v", conn.LocalAddr(), client.RemoteAddr())
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("a connection of the watcher's can be read from")
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			checkEnded(t, client)
			if conn.LocalAddr() == nil || conn.RemoteAddr() == nil {
				t.Error("no addresses after the end")
			}
			server.stop()
			if err := server.wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A connection of one watcher is none of another, and it is closed once.
func TestAcceptedConnectionOnAnotherWatcher(t *testing.T) {
	w, err := aio.NewWatcherOptions(aio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if kind, _ := w.Driver(); kind == aio.Std {
		t.Skip("Std accepts connections of package net")
	}
	h := addresses{make(chan net.Conn, 1)}
	listeners := listenOn(t, 1)
	server := serve(t, &aio.Server{Handler: h}, listeners)
	client := dialTo(t, "tcp", listeners[0].Addr().String())
	conn := <-h.conns
	if err := w.Read(nil, conn, nil); err == nil {
		t.Error("another watcher takes it")
	}
	if err := w.Free(conn); err != nil {
		t.Error(err)
	}
	conn.Close()
	conn.Close()
	checkEnded(t, client)
	server.stop()
	if err := server.wait(); err != nil {
		t.Error(err)
	}
}
