package cluster

import (
	"cmp"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
)

const (
	// almost is the load from which on a node is not chosen: what is known of it is up
	// to a second old.
	almost = 0.9
	// uneven is how much more than the average a node may have, and idle the load up to
	// which that does not count.
	uneven, idle = 1.25, 0.5
)

// Place returns where a new viewer of a stream is sent to, empty when no other node has
// room. secure leaves out addresses without TLS. The viewer counts there from now on.
func (n *Node) Place(stream string, secure bool) (url string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	nodes := n.dir.Nodes(time.Now())
	for i := range nodes {
		if nodes[i].Play == "" {
			nodes[i].Play = nodes[i].URL
		}
		nodes[i].Room -= n.placed[0][nodes[i].Name] + n.placed[1][nodes[i].Name]
	}
	name, url := choose(stream, nodes, secure)
	if name != "" {
		n.placed[0][name]++
		n.sent++
		n.latest = time.Now()
	}
	return url
}

// Placed returns how many viewers Place has sent on, and when it did so last; the zero Time
// when it never has.
func (n *Node) Placed() (viewers int, latest time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent, n.latest
}

// choose returns a node that has room, by rendezvous hashing with bounded load (Mirrokni,
// Thorup, Zadimoghaddam: Consistent Hashing with Bounded Loads): the viewers of a stream
// are on few nodes, and no node has far more than the others.
func choose(stream string, nodes []directory.NodeStatus, secure bool) (name, url string) {
	total := 0.0
	for i := range nodes {
		total += nodes[i].Load
	}
	bound := min(max(uneven*total/float64(max(len(nodes), 1)), idle), almost)
	var best uint64
	for i := range nodes {
		o := &nodes[i]
		if o.Self || o.Drains || o.Room <= 0 || o.Load >= bound || o.Play == "" || secure && !strings.HasPrefix(o.Play, "https://") {
			continue
		}
		if w := directory.Weight(stream, o.Name); name == "" || w > best {
			name, url, best = o.Name, o.Play, w
		}
	}
	return name, url
}

// PlayURL returns where viewers are sent to at another node; empty when there is none of
// that name.
func (n *Node) PlayURL(name string) string {
	for _, o := range n.Nodes() {
		if o.Name == name && !o.Self {
			return cmp.Or(o.Play, o.URL)
		}
	}
	return ""
}

// PlayURLs returns where viewers of other nodes come from and are sent to.
func (n *Node) PlayURLs() (list []string) {
	for _, o := range n.Nodes() {
		if o.Self {
			continue
		}
		for _, url := range []string{o.Play, o.URL} {
			if url != "" {
				list = append(list, url)
			}
		}
	}
	return list
}
