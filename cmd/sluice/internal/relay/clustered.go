package relay

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pull"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
)

// clustered joins this server and a cluster: what is published here is entered in the
// directory, what is watched here is pulled from where that says.
type clustered struct {
	host    *session.Host
	web     *web.Server // answers other nodes' requests
	report  hooks.Reporter
	version string // of the program

	pulls  *pull.Origin
	node   *cluster.Node // nil before Listen
	bans   *nodeBans     // nil before Listen
	opened chan struct{} // closed when there are the node and bans
	before map[string]received
	load   load

	end     context.CancelFunc
	running sync.WaitGroup
}

const (
	// A node that has ended its viewers is there to send them to others until all have come, or
	// for sendOn, and longer while one comes within lull of another, up to sendOnMost. Those
	// who come back take half a second, and more on a machine that is busy.
	sendOn, lull, sendOnMost = 2 * time.Second, time.Second, 5 * time.Second
)

// answering is how long this node works on a request of another.
const answering = 10 * time.Second

// received is what a stream had received at a time.
type received struct {
	bytes int64
	at    time.Time
}

func newClustered(h *session.Host, w *web.Server, report hooks.Reporter, version string) *clustered {
	c := &clustered{host: h, web: w, report: report, version: version, opened: make(chan struct{}), before: map[string]received{}}
	c.pulls = pull.NewCluster(h, c, nil)
	return c
}

// open joins the cluster. at has the addresses of the listeners, and gets that for
// other nodes.
func (c *clustered) open(at map[string]string) error {
	o := c.host.Config()
	address, err := advertised(o, at)
	if err != nil {
		return &ListenError{"advertise", o.Advertise, err}
	}
	name := o.NodeName
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return &ListenError{"node-name", "", err}
		}
		name, _, _ = strings.Cut(name, ".")
	}
	options := cluster.Options{
		Name: name, Secret: []byte(o.ClusterSecret), Accept: []byte(o.ClusterSecretAccept), Policy: directory.Policy(o.Takeover), Of: c.policy, Version: c.version,
		Join: o.Join, NATS: o.NATS, Changed: c.changed, Measure: c.measure, Answer: c.answer, Logger: c.host.Log,
	}
	// For tests: this node's clock is wrong by so much, and so many others pull a stream from
	// its publisher's node.
	options.Direct, _ = strconv.Atoi(os.Getenv("SLUICE_TEST_DIRECT"))
	if wrong, err := time.ParseDuration(os.Getenv("SLUICE_TEST_CLOCK")); err == nil {
		options.Clock = func() time.Time { return time.Now().Add(wrong) }
	}
	if o.NATS == "" {
		options.Listen = o.ClusterAddress
	}
	c.host.Register.Name(name)
	c.host.Gate.ShareBans(name)
	node, err := cluster.Open(options, address)
	if err != nil {
		return &ListenError{"cluster-address", cmp.Or(options.Listen, "an outside NATS"), err}
	}
	c.node = node
	c.bans = &nodeBans{node, c.host, c.web.Banned}
	if address := node.Address(); address != "" {
		at["cluster-address"] = address
	}
	close(c.opened)
	if len(o.Join) > 0 || o.NATS != "" {
		// Those who come at once, after a restart, are not to hear that there is no stream.
		ctx, cancel := context.WithTimeout(context.Background(), c.host.Times.Join)
		await(ctx, node.Joined)
		cancel()
		for _, problem := range node.Status().Problems {
			c.host.Log.Warn("the cluster has a problem; sluice cluster status says whether it lasts", "problem", problem)
		}
	}
	var ctx context.Context
	ctx, c.end = context.WithCancel(context.Background())
	c.running.Go(func() { c.bans.compare(ctx) })
	c.host.Log.Info("in a cluster", "node", name, "address", node.Address(), "advertise", address)
	return nil
}

// advertised returns where other nodes pull from: the setting, or the address of the
// HTTP listener if that is one that they can know.
func advertised(o *config.Config, at map[string]string) (string, error) {
	if o.Advertise != "" {
		return o.Advertise, nil
	}
	scheme, address := "http", at["http"]
	if address == "" {
		scheme, address = "https", at["https"]
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		other, _, _ := net.SplitHostPort(o.ClusterAddress)
		ip, err := netip.ParseAddr(other)
		if o.NATS != "" || err != nil || ip.IsUnspecified() {
			return "", fmt.Errorf("%s listens on all addresses: the setting advertise has to say where other nodes pull from", scheme)
		}
		host = ip.String()
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}
	return u.String(), nil
}

// changed is called with each change of the directory.
func (c *clustered) changed(e directory.Event) {
	if e.Stream == "" {
		c.nodeChanged(e)
		return
	}
	<-c.opened
	if c.policy(e.Stream) == directory.Standby {
		c.host.Hold(e.Stream)
	} else if e.Lost {
		c.host.Log.Warn("another node has the stream", "stream", e.Stream, "node", e.Winner.Node)
		c.host.StopPublishers(e.Stream, fmt.Errorf("%w: node %s", session.ErrElsewhere, e.Winner.Node), pull.AgentCluster)
	}
	if c.node.Leaving(e.Stream) {
		c.pulls.Again(e.Stream)
	}
	if e.Active.Node != c.node.Name() {
		c.pulls.Moved(e.Stream, e.Active.Epoch)
	}
}

// answer is cluster.Options.Answer.
func (c *clustered) answer(from string, r cluster.Request) cluster.Answer {
	<-c.opened
	if r.Target == bansPath {
		return c.bans.answer(from, r)
	}
	ctx, cancel := context.WithTimeout(c.host.Ctx, answering)
	defer cancel()
	status, body := c.web.Answer(ctx, r.Method, r.Target, r.For+" over node "+from)
	return cluster.Answer{Status: status, Body: body}
}

// nodeChanged reports nodes that come and go.
func (c *clustered) nodeChanged(e directory.Event) {
	switch {
	case e.Joined:
		c.host.Log.Info("a node has joined the cluster", "node", e.Node)
		c.report.NodeJoined(e.Node)
	case e.Left:
		c.host.Log.Info("a node has left the cluster", "node", e.Node, "silent", e.Silent)
		c.report.NodeLeft(e.Node, e.Silent)
	}
}

// policy returns that of a stream.
func (c *clustered) policy(stream string) directory.Policy {
	return directory.Policy(c.host.For(stream).Takeover)
}

// measure is cluster.Options.Measure. It has one caller.
func (c *clustered) measure(figures func(string, int64, int)) directory.Node {
	select {
	case <-c.opened:
		c.host.YieldSilent()
	default:
	}
	now, fresh, sent := time.Now(), map[string]received{}, int64(0)
	for _, st := range c.host.Hub.Streams() {
		f := st.Stats()
		was := c.before[st.Name()]
		rate := int64(0)
		if span := now.Sub(was.at).Seconds(); !was.at.IsZero() && span > 0 && f.BytesIn >= was.bytes {
			rate = int64(8 * float64(f.BytesIn-was.bytes) / span)
		}
		fresh[st.Name()] = received{f.BytesIn, now}
		sent += f.BytesOut
		figures(st.Name(), rate, f.Viewers)
	}
	c.before = fresh
	n := directory.Node{Viewers: c.host.Register.Number(session.RoleViewer), Bans: c.host.Gate.BansSum()}
	n.Load, n.Room = c.load.measure(now, c.host.Config(), n.Viewers, sent)
	n.Play = c.host.Config().PlayURL
	return n
}

// Publish implements session's cluster.
func (c *clustered) Publish(stream, publisher string) (epoch uint64, err error) {
	epoch, winner, ok := c.node.Publish(stream, publisher)
	if !ok || winner != c.node.Name() {
		if ok {
			c.node.Remove(stream, epoch)
		}
		return 0, fmt.Errorf("%w: %s, on node %s", session.ErrElsewhere, stream, winner)
	}
	return epoch, nil
}

// Lost implements session's cluster.
func (c *clustered) Lost(stream string) error {
	if winner, lost := c.node.Lost(stream); lost && c.policy(stream) != directory.Standby {
		return fmt.Errorf("%w: node %s", session.ErrElsewhere, winner)
	}
	return nil
}

// Stand implements session's cluster.
func (c *clustered) Stand(stream, publisher string) (epoch uint64, held bool) {
	epoch, _, _ = c.node.Publish(stream, publisher)
	_, held, _ = c.node.Held(stream)
	return epoch, held
}

// Held implements session's cluster.
func (c *clustered) Held(stream string) (epoch uint64, held, ok bool) { return c.node.Held(stream) }

// SetActive implements session's cluster.
func (c *clustered) SetActive(stream string, epoch uint64, on bool) {
	c.node.SetActive(stream, epoch, on)
}

// Yield implements session's cluster.
func (c *clustered) Yield(stream string, epoch uint64) (next uint64, ok bool) {
	return c.node.Yield(stream, epoch)
}

// Remove implements session's cluster.
func (c *clustered) Remove(stream string, epoch uint64) { c.node.Remove(stream, epoch) }

// Granted implements session's cluster.
func (c *clustered) Granted(stream string, q url.Values) (string, error) {
	node, err := c.node.Granted(stream, q)
	if err != nil {
		return "", fmt.Errorf("%w: %w", access.ErrTokenWrong, err)
	}
	return node, nil
}

// Pulled implements session's cluster.
func (c *clustered) Pulled(stream string) bool { return c.pulls.Pulled(stream) }

// Sources implements pull.Nodes.
func (c *clustered) Sources(stream string) []directory.Source { return c.node.Sources(stream) }

// Grant implements pull.Nodes.
func (c *clustered) Grant(stream, to string) url.Values { return c.node.Grant(stream, to) }

// Copy implements pull.Nodes.
func (c *clustered) Copy(stream string, epoch uint64, level int, from string) {
	c.node.Copy(stream, epoch, level, from)
}

// Failed implements pull.Nodes.
func (c *clustered) Failed(node string, err error) { c.node.Failed(node, err) }

// Quiet implements pull.Nodes.
func (c *clustered) Quiet(stream, node string) bool { return c.node.Quiet(stream, node) }

// NoCopy implements pull.Nodes.
func (c *clustered) NoCopy(stream string) { c.node.NoCopy(stream) }

func (c *clustered) status() any { return c.node.Status() }

// leave hands over what other nodes can have elsewhere, and then ends streams at a key
// frame. It waits for both, within the setting's time.
func (c *clustered) leave() {
	host, within := c.host, c.host.Config().ClusterDrain
	if c.node == nil || c.node.Others() == 0 || within == 0 {
		return
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(host.Ctx, within)
	defer cancel()
	host.Leave(session.NoPublishers)
	c.drain()
	await(ctx, func() bool { return c.node.Needed() == 0 })
	viewers := host.Register.Number(session.RoleViewer)
	host.Leave(session.NoSessions)
	await(ctx, func() bool {
		list := host.Hub.Streams()
		for _, st := range list {
			st.EndAtKey()
		}
		return len(list) == 0
	})
	ended := time.Now()
	before, _ := c.node.Placed() // new ones, most of them: those who come back need longer
	await(ctx, func() bool {
		placed, latest := c.node.Placed()
		return c.node.Others() == 0 || sentOn(viewers, placed-before, time.Since(ended), time.Since(latest))
	})
	c.host.Log.Info("drained", "after", time.Since(began).Round(time.Millisecond), "streams", len(host.Hub.Streams()), "needed", c.node.Needed())
}

// sentOn reports whether a node whose viewers ended some time ago need not wait for more of
// them: so many have come back, the latest some time ago.
func sentOn(viewers, back int, ended, latest time.Duration) bool {
	return back >= viewers || ended >= sendOn && latest >= lull || ended >= sendOnMost
}

// drain takes the server out of the cluster's choice.
func (c *clustered) drain() {
	if c.node != nil {
		c.node.Drain()
	}
}

func (c *clustered) close() {
	if c.node != nil {
		c.end()
		c.running.Wait()
		c.node.Close()
	}
}
