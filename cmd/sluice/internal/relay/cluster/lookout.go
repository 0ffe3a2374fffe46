package cluster

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
)

const (
	// quiet is the silence after which a node is looked after: a digest is missing.
	quiet = 1300 * time.Millisecond
	// lookWithin is how long a look may take, and lookAgain the least time between two.
	lookWithin = 500 * time.Millisecond
	lookAgain  = 200 * time.Millisecond
)

// A lookout looks whether nodes have died, so that their streams need not wait until
// their silence is long enough. The process of a node whose address refuses connections
// has ended; what cannot be reached may live, and is left to the directory.
type lookout struct {
	node   *Node
	routes []string             // nodes with a connection to this one
	lost   map[string]time.Time // nodes that have none any more, and since when
	looked map[string]time.Time // by node
}

func newLookout(n *Node) *lookout {
	return &lookout{node: n, lost: map[string]time.Time{}, looked: map[string]time.Time{}}
}

// out looks after the nodes that are quiet, and those whose connection has gone, of which
// changed says that there may be some. It does not wait.
func (l *lookout) out(ctx context.Context, now time.Time, changed bool) {
	if changed {
		l.connected(now, l.node.transport.Routes())
	}
	l.look(ctx, now)
}

// connected notes which nodes have a connection.
func (l *lookout) connected(now time.Time, routes []string) {
	for _, name := range l.routes {
		l.lost[name] = now
	}
	for _, name := range routes {
		delete(l.lost, name)
	}
	l.routes = routes
}

// look looks after a node that has lost its connection again and again until it is heard: its
// listener may accept a little longer than its process lives.
func (l *lookout) look(ctx context.Context, now time.Time) {
	n := l.node
	n.mu.Lock()
	all := n.dir.Suspects(now, 0)
	n.mu.Unlock()
	for name, since := range l.lost {
		if !slices.ContainsFunc(all, func(s directory.Suspect) bool { return s.Name == name && s.Silent >= now.Sub(since) }) {
			delete(l.lost, name) // it was heard, or is forgotten
		}
	}
	for name, at := range l.looked {
		if now.Sub(at) >= lookAgain {
			delete(l.looked, name)
		}
	}
	for _, s := range all {
		_, lost := l.lost[s.Name]
		if _, ok := l.looked[s.Name]; ok || !lost && s.Silent < quiet {
			continue
		}
		l.looked[s.Name] = now
		n.running.Go(func() {
			if ended(ctx, s.URL) {
				n.options.Logger.Warn("another node's process has ended", "node", s.Name)
				n.do(func(d *directory.Directory) { d.Dead(s) })
			}
		})
	}
}

// ended reports whether no process listens at a node's address, on a machine that answers.
func ended(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	d := net.Dialer{Timeout: lookWithin}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
