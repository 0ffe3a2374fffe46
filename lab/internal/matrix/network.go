package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/netsim"
)

// A network is a proxy on loopback before a target: what goes through it, each way, is late
// by a latency and by a jitter. Bytes are copied.
type network struct {
	listener net.Listener
	target   string // host:port
	latency  time.Duration
	jitter   time.Duration

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	ending sync.WaitGroup
}

// networkWindow is how many bytes can be under way on a connection each way.
const networkWindow = 4 << 20

// through starts a network before the target of a plan, host:port or a URL of one, and
// returns what to put in its place.
func through(ctx context.Context, target string, latency, jitter time.Duration) (*network, string, error) {
	host := target
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil {
			return nil, "", err
		}
		host = u.Host
	}
	_, port, err := net.SplitHostPort(host)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return nil, "", fmt.Errorf("matrix: a network is simulated before a host and port, not before %q: %w", target, err)
	}
	var l net.ListenConfig
	listener, err := l.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("matrix: %w", err)
	}
	n := &network{listener: listener, target: host, latency: latency, jitter: jitter, conns: map[net.Conn]bool{}}
	n.ending.Go(n.accept)
	return n, strings.Replace(target, host, listener.Addr().String(), 1), nil
}

func (n *network) accept() {
	for seed := uint64(1); ; seed++ {
		near, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.ending.Go(func() { n.join(near, seed) })
	}
}

// join copies between two ends until both have ended.
func (n *network) join(near net.Conn, seed uint64) {
	defer near.Close()
	far, err := net.DialTimeout("tcp", n.target, 5*time.Second)
	if err != nil {
		return
	}
	o := netsim.Options{Seed: seed, Latency: n.latency, Jitter: n.jitter, Window: networkWindow}
	a, b := netsim.NewConn(near, o), netsim.NewConn(far, o)
	defer a.Close()
	defer b.Close()
	if !n.keep(a, b) {
		return
	}
	defer n.drop(a, b)
	var both sync.WaitGroup
	copyTo := func(to, from *netsim.Conn) {
		if _, err := io.Copy(to, from); err != nil && !errors.Is(err, net.ErrClosed) {
			to.Reset()
			return
		}
		to.CloseWrite()
	}
	both.Go(func() { copyTo(a, b) })
	both.Go(func() { copyTo(b, a) })
	both.Wait()
}

func (n *network) keep(conns ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		n.conns[c] = true
	}
	return !n.closed
}

func (n *network) drop(conns ...net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		delete(n.conns, c)
	}
}

// close ends the network and returns when nothing of it is left.
func (n *network) close() error {
	err := n.listener.Close()
	n.mu.Lock()
	n.closed = true
	for c := range n.conns {
		c.Close()
	}
	n.mu.Unlock()
	n.ending.Wait()
	return err
}
