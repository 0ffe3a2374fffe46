package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/netsim"
)

// A network is a proxy on loopback before a target: what goes through it, each way, is late
// by a latency and by a jitter. Bytes are copied.
type network struct {
	listener net.Listener
	target   string // host:port
	latency  time.Duration
	jitter   time.Duration
	ctx      context.Context // of its connections
	stop     context.CancelFunc
	ending   sync.WaitGroup
}

const networkWindow = 4 << 20

func before(plan *load.Plan) (addr string, err error) {
	targets := plan.Targets()
	if len(targets) != 1 {
		return "", fmt.Errorf("a network is simulated before one target, not before %d", len(targets))
	}
	t, err := wire.ParseTarget(targets[0], &plan.Requests)
	if err != nil {
		return "", err
	}
	if t.Addr() == "" {
		return "", fmt.Errorf("a network is simulated before a host and port, not before %q", t)
	}
	return t.Addr(), nil
}

func through(ctx context.Context, plan *load.Plan, latency, jitter time.Duration) (*network, error) {
	addr, err := before(plan)
	if err != nil {
		return nil, err
	}
	var l net.ListenConfig
	listener, err := l.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("matrix: %w", err)
	}
	n := &network{listener: listener, target: addr, latency: latency, jitter: jitter}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.ending.Go(n.accept)
	plan.Requests.Via = listener.Addr().String()
	return n, nil
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

func (n *network) join(near net.Conn, seed uint64) {
	defer near.Close()
	dialer := net.Dialer{Timeout: 5 * time.Second}
	far, err := dialer.DialContext(n.ctx, "tcp", n.target)
	if err != nil {
		return
	}
	o := netsim.Options{Seed: seed, Latency: n.latency, Jitter: n.jitter, Window: networkWindow}
	a, b := netsim.NewConn(near, o), netsim.NewConn(far, o)
	end := func() { a.Close(); b.Close() }
	defer end()
	defer context.AfterFunc(n.ctx, end)()
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

func (n *network) close() error {
	n.stop()
	err := n.listener.Close()
	n.ending.Wait()
	return err
}
