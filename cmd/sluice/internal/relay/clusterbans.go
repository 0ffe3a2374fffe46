package relay

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster"
)

// bansPath is where nodes give one another their bans: GET asks for them, POST tells
// what has changed. It is no path of the API.
const bansPath = "/bans"

const (
	// sharing is how long a change waits for the other nodes to take it.
	sharing = time.Second
	// comparing is how often a node looks whether others have other bans: after a
	// partition, and when it is new.
	comparing = time.Second
)

// BansChanged implements web.Nodes. A node that does not get them asks, because the sums
// differ.
func (c *clustered) BansChanged() {
	text, err := json.Marshal(c.server.host.Gate.SharedBans())
	if err != nil {
		panic("relay: " + err.Error()) // plain data
	}
	ctx, cancel := context.WithTimeout(context.Background(), sharing)
	defer cancel()
	var asking sync.WaitGroup
	for _, node := range c.Others() {
		asking.Go(func() {
			if _, err := c.node.Ask(ctx, node, cluster.Request{Method: http.MethodPost, Target: bansPath, Body: text}); err != nil {
				c.server.log.Warn("a node of the cluster has not taken the bans yet", "node", node, "error", err)
			}
		})
	}
	asking.Wait()
}

// compareBans asks nodes that have other bans for theirs, until ctx is done.
func (c *clustered) compareBans(ctx context.Context) {
	tick := time.NewTicker(comparing)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, n := range c.node.Nodes() {
			if !n.Self && n.Bans != c.server.host.Gate.BansSum() {
				c.askBans(ctx, n.Name)
			}
		}
	}
}

func (c *clustered) askBans(ctx context.Context, node string) {
	ctx, cancel := context.WithTimeout(ctx, sharing)
	defer cancel()
	a, err := c.node.Ask(ctx, node, cluster.Request{Method: http.MethodGet, Target: bansPath})
	if err == nil && a.Status == http.StatusOK {
		c.mergeBans(node, a.Body)
	}
}

// mergeBans takes over the bans of another node, and ends the sessions that they match.
func (c *clustered) mergeBans(node string, text []byte) (status int) {
	var list access.BanList
	if err := json.Unmarshal(text, &list); err != nil {
		return http.StatusBadRequest
	}
	added, err := c.server.host.Gate.MergeBans(list)
	for _, b := range added {
		c.server.web.Banned(b, "node "+node)
	}
	switch {
	case errors.Is(err, access.ErrBansFile):
		c.server.log.Error("bans are not saved: at a restart they will be what they were", "error", err)
	case err != nil:
		c.server.log.Warn("bans of a node were left out", "node", node, "error", err)
	}
	return http.StatusNoContent
}

// answerBans answers a request for bansPath.
func (c *clustered) answerBans(from string, r cluster.Request) cluster.Answer {
	if r.Method == http.MethodPost {
		return cluster.Answer{Status: c.mergeBans(from, r.Body)}
	}
	text, err := json.Marshal(c.server.host.Gate.SharedBans())
	if err != nil {
		panic("relay: " + err.Error()) // plain data
	}
	return cluster.Answer{Status: http.StatusOK, Body: text}
}
