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
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
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

// nodeBans keep the bans of all nodes the same.
type nodeBans struct {
	node   *cluster.Node
	host   *session.Host
	banned func(b access.Ban, by string) // ends the sessions that b matches
}

// changed gives this node's bans to the others. A node that does not get them asks, because
// the sums differ.
func (b *nodeBans) changed() {
	text := b.own()
	ctx, cancel := context.WithTimeout(context.Background(), sharing)
	defer cancel()
	var asking sync.WaitGroup
	for _, n := range b.node.Nodes() {
		if n.Self {
			continue
		}
		asking.Go(func() {
			if _, err := b.node.Ask(ctx, n.Name, cluster.Request{Method: http.MethodPost, Target: bansPath, Body: text}); err != nil {
				b.host.Log.Warn("a node of the cluster has not taken the bans yet", "node", n.Name, "error", err)
			}
		})
	}
	asking.Wait()
}

// compare asks nodes that have other bans for theirs, until ctx is done.
func (b *nodeBans) compare(ctx context.Context) {
	tick := time.NewTicker(comparing)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, n := range b.node.Nodes() {
			if !n.Self && n.Bans != b.host.Gate.BansSum() {
				b.ask(ctx, n.Name)
			}
		}
	}
}

func (b *nodeBans) ask(ctx context.Context, node string) {
	ctx, cancel := context.WithTimeout(ctx, sharing)
	defer cancel()
	a, err := b.node.Ask(ctx, node, cluster.Request{Method: http.MethodGet, Target: bansPath})
	if err == nil && a.Status == http.StatusOK {
		b.merge(node, a.Body)
	}
}

// merge takes over the bans of another node, and ends the sessions that they match.
func (b *nodeBans) merge(node string, text []byte) (status int) {
	var list access.BanList
	if err := json.Unmarshal(text, &list); err != nil {
		return http.StatusBadRequest
	}
	added, err := b.host.Gate.MergeBans(list)
	for _, ban := range added {
		b.banned(ban, "node "+node)
	}
	switch {
	case errors.Is(err, access.ErrBansFile):
		b.host.Log.Error(bansNotSaved, "error", err)
	case err != nil:
		b.host.Log.Warn("bans of a node were left out", "node", node, "error", err)
	}
	return http.StatusNoContent
}

// answer answers a request for bansPath.
func (b *nodeBans) answer(from string, r cluster.Request) cluster.Answer {
	if r.Method == http.MethodPost {
		return cluster.Answer{Status: b.merge(from, r.Body)}
	}
	return cluster.Answer{Status: http.StatusOK, Body: b.own()}
}

// own are the bans of this node as text.
func (b *nodeBans) own() []byte {
	text, err := json.Marshal(b.host.Gate.SharedBans())
	if err != nil {
		panic("relay: " + err.Error()) // plain data
	}
	return text
}
