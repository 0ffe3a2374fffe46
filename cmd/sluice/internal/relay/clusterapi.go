package relay

import (
	"context"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

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

// Place implements web.Nodes.
func (c *clustered) Place(stream string, secure bool) string {
	o := c.host.Config()
	most := viewersPlaced(o)
	full := c.load.full.Load() || most > 0 && c.host.Register.Number(session.RoleViewer) >= most || c.node.Draining()
	if !full || c.node.Has(stream) == "" {
		return ""
	}
	return c.node.Place(stream, secure)
}

// PlayURL implements web.Nodes.
func (c *clustered) PlayURL(node string) string { return c.node.PlayURL(node) }

// PlayURLs implements web.Nodes.
func (c *clustered) PlayURLs() []string { return c.node.PlayURLs() }

// BansChanged implements web.Nodes.
func (c *clustered) BansChanged() { c.bans.changed() }
