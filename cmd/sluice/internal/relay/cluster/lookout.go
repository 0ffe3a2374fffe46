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
	// lookWithin is how long a look may take, and the least time between two.
	lookWithin = 500 * time.Millisecond
)

// A lookout looks whether nodes have died, so that their streams need not wait until
// their silence is long enough. The process of a node whose address refuses connections
// has ended; what cannot be reached may live, and is left to the directory.
type lookout struct {
	node   *Node
	routes []string             // nodes with a connection to this one
	looked map[string]time.Time // by node
}

func newLookout(n *Node) *lookout { return &lookout{node: n, looked: map[string]time.Time{}} }

// out looks after the nodes that are quiet, and, when the connections between nodes have
// changed, those that have none any more. It does not wait.
func (l *lookout) out(ctx context.Context, now time.Time, changed bool) {
	n := l.node
	var lost []string
	if changed {
		routes := n.transport.Routes()
		for _, name := range l.routes {
			if !slices.Contains(routes, name) {
				lost = append(lost, name)
			}
		}
		l.routes = routes
	}
	n.mu.Lock()
	suspects := n.dir.Suspects(now, quiet)
	if len(lost) > 0 {
		suspects = slices.DeleteFunc(n.dir.Suspects(now, 0), func(s directory.Suspect) bool {
			return !slices.Contains(lost, s.Name) && !slices.Contains(suspects, s)
		})
	}
	n.mu.Unlock()
	for name, at := range l.looked {
		if now.Sub(at) >= lookWithin {
			delete(l.looked, name)
		}
	}
	for _, s := range suspects {
		if _, ok := l.looked[s.Name]; ok && !slices.Contains(lost, s.Name) {
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
