package relay

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// answering is how long this node works on a request of another.
const answering = 10 * time.Second

// Name implements web.Nodes.
func (c *clustered) Name() string    { return c.node.Name() }
func (c *clustered) Connected() bool { return c.node.Connected() }

// Others implements web.Nodes.
func (c *clustered) Others() (names []string) {
	for _, n := range c.node.Nodes() {
		if !n.Self {
			names = append(names, n.Name)
		}
	}
	return names
}

// Has implements web.Nodes.
func (c *clustered) Has(stream string) string { return c.node.Has(stream) }

// From implements web.Nodes.
func (c *clustered) From(stream string) string { return c.node.From(stream) }

// Ask implements web.Nodes.
func (c *clustered) Ask(ctx context.Context, node, method, target, client string) (status int, body []byte, err error) {
	a, err := c.node.Ask(ctx, node, cluster.Request{Method: method, Target: target, For: client})
	return a.Status, a.Body, err
}

// answer is cluster.Options.Answer.
func (c *clustered) answer(from string, r cluster.Request) cluster.Answer {
	<-c.opened
	if r.Target == bansPath {
		return c.answerBans(from, r)
	}
	ctx, cancel := context.WithTimeout(c.server.host.Ctx, answering)
	defer cancel()
	status, body := c.server.web.Answer(ctx, r.Method, r.Target, r.For+" over node "+from)
	return cluster.Answer{Status: status, Body: body}
}

// nodeChanged reports nodes that come and go.
func (c *clustered) nodeChanged(e directory.Event) {
	switch {
	case e.Joined:
		c.server.log.Info("a node has joined the cluster", "node", e.Node)
		c.server.report.NodeJoined(e.Node)
	case e.Left:
		c.server.log.Info("a node has left the cluster", "node", e.Node, "silent", e.Silent)
		c.server.report.NodeLeft(e.Node, e.Silent)
	}
}

// Place implements web.Nodes.
func (c *clustered) Place(stream string, secure bool) string {
	o := c.server.host.Config()
	most := viewersPlaced(o)
	full := c.load.full.Load() || most > 0 && c.server.host.Register.Number(session.RoleViewer) >= most || c.node.Draining()
	if !full || c.node.Has(stream) == "" {
		return ""
	}
	return c.node.Place(stream, secure)
}

// PlayURL implements web.Nodes.
func (c *clustered) PlayURL(node string) string { return c.node.PlayURL(node) }

// PlayURLs implements web.Nodes.
func (c *clustered) PlayURLs() []string { return c.node.PlayURLs() }
