package config

import (
	"fmt"
	"math"
	"net"
	"strings"
	"time"
)

// Clustering makes a server one node of several.
type Clustering struct {
	Cluster        bool
	NodeName       string
	Join           []string // addresses of other nodes
	NATS           string   // URL
	ClusterAddress string
	Advertise      string // URL
	PlayURL        string // for viewers
	PlaceViewers   int
	PlaceBandwidth int64 // bytes a second
	PlaceProcessor int   // percent
	ClusterDrain   time.Duration
	// From the environment only. Nodes that have the second one may come too, while the secret is
	// changed on one node after another.
	ClusterSecret, ClusterSecretAccept string
}

func (g *Clustering) settings() []Setting {
	return []Setting{
		{Name: "cluster", Default: "false", Usage: "share streams with the other nodes of a cluster; needs SLUICE_CLUSTER_SECRET, the same on all",
			value: boolean(&g.Cluster)},
		{Name: "node-name", Usage: "`name` of this node, which no other has; the machine's unless given",
			value: text(&g.NodeName), fits: nodeName(&g.NodeName)},
		{Name: "join", Usage: "`addresses` of other nodes, as their cluster-address says; one that is there is enough",
			value: list(&g.Join), fits: hostPorts(&g.Join)},
		{Name: "nats", Usage: "`URL` of a NATS that is there already, nats:// or tls://; then cluster-address and join are not used",
			value: text(&g.NATS), fits: webURL(&g.NATS, "nats", "tls", "ws", "wss")},
		{Name: "cluster-address", Default: "127.0.0.1:7946", Usage: "`address` for other nodes",
			value: text(&g.ClusterAddress), fits: address(&g.ClusterAddress)},
		{Name: "advertise", Usage: "`URL` from which other nodes pull, http:// or https://; unless given, that of the HTTP listener",
			value: text(&g.Advertise), fits: webURL(&g.Advertise, "http", "https")},
		{Name: "play-url", Usage: "`URL` to which other nodes send viewers, http:// or https://; unless given, that of advertise",
			value: text(&g.PlayURL), fits: webURL(&g.PlayURL, "http", "https")},
		{Name: "place-viewers", Default: "0", Live: true, Usage: "from `N` viewers on send new ones over HTTP to other nodes; 0 for what max-viewers says",
			value: number(&g.PlaceViewers), fits: between(&g.PlaceViewers, 0, 1<<30)},
		{Name: "place-bandwidth", Default: "0", Live: true, Usage: "the same from this `size` a second on, that viewers are sent; 0 for any",
			value: size(&g.PlaceBandwidth), fits: sizeBetween(&g.PlaceBandwidth, 0, math.MaxInt64)},
		{Name: "place-processor", Default: "0", Live: true, Usage: "the same from this `percentage` of all processors on; 0 for any",
			value: number(&g.PlaceProcessor), fits: between(&g.PlaceProcessor, 0, 100)},
		{Name: "cluster-drain", Default: "10s", Live: true, Usage: "a node that ends waits at most this `time` until others have its streams from elsewhere, and for a key frame; 0: it does not",
			value: duration(&g.ClusterDrain), fits: between(&g.ClusterDrain, 0, 10*time.Minute)},
		{Name: "cluster-secret", Secret: true, Usage: "by which nodes know one another",
			value: text(&g.ClusterSecret), fits: secret(&g.ClusterSecret)},
		{Name: "cluster-secret-accept", Secret: true, Usage: "another one that nodes may have, while theirs is changed",
			value: text(&g.ClusterSecretAccept), fits: secret(&g.ClusterSecretAccept)},
	}
}

func nodeName(v *string) func() error {
	return func() error {
		if strings.ContainsFunc(*v, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
		}) || len(*v) > 64 {
			return fmt.Errorf("%.80q has more than 64 or other characters than letters, digits, - and _", *v)
		}
		return nil
	}
}

func hostPorts(v *[]string) func() error {
	return func() error {
		for _, text := range *v {
			if host, port, err := net.SplitHostPort(text); err != nil || host == "" || port == "" {
				return fmt.Errorf("%q is not of the form HOST:PORT", text)
			}
		}
		return nil
	}
}
