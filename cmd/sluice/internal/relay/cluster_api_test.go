package relay

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
)

const clusterToken = "the API token of the tests"

// nodeList is an answer of the API for all nodes.
type nodeList struct {
	Node       string
	Streams    []web.StreamInfo
	Clients    []web.ClientInfo
	Bans       []access.Ban
	Unanswered []web.Unanswered
	status     int
	text       string
}

func (l *nodeList) nodes() (names []string) {
	for _, s := range l.Streams {
		names = append(names, s.Node)
	}
	for _, c := range l.Clients {
		names = append(names, c.Node)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// api sends a request with the API token.
func (s *relayServer) api(t *testing.T, method, path string) (l nodeList) {
	t.Helper()
	l.status, l.text = s.do(t, method, path, http.Header{"Authorization": {"Bearer " + clusterToken}})
	if strings.HasPrefix(l.text, "{") && l.status == http.StatusOK {
		if err := json.Unmarshal([]byte(l.text), &l); err != nil {
			t.Fatal(err, l.text)
		}
	}
	return l
}

// Every node answers for all of them, or for the one that is asked for.
func TestClusterAnswersForAllNodes(t *testing.T) {
	nodes := startNodes(t, 3, func(c *relayConfig) { c.APIToken = clusterToken })
	p := nodes[0].publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	nodes[2].knows(t, "live/s", "a")
	nodes[2].watch(t, "/live/s.flv").until(t, "picture 4")
	for _, s := range nodes {
		var l nodeList
		relayEventually(t, "the streams of all nodes", func() bool {
			l = s.api(t, "GET", "/api/streams")
			from := map[string]string{}
			for _, st := range l.Streams {
				from[st.Name+"@"+st.Node] = st.From
			}
			return len(l.Unanswered) == 0 && maps.Equal(from, map[string]string{"live/s@a": "", "live/s@c": "a"})
		})
		if l.Node != s.cluster.Name() {
			t.Errorf("%s", l.text)
		}
		relayEventually(t, "the sessions of all nodes", func() bool { // two publishers, one of them a pull, and two viewers
			l = s.api(t, "GET", "/api/clients")
			return len(l.Unanswered) == 0 && len(l.Clients) == 4 && fmt.Sprint(l.nodes()) == "[a c]"
		})
		for _, c := range l.Clients {
			if !strings.HasSuffix(c.ID, "@"+c.Node) {
				t.Errorf("%s is on %s", c.ID, c.Node)
			}
		}
		relayEventually(t, "one node's streams", func() bool {
			l = s.api(t, "GET", "/api/streams?node=c")
			return l.status == http.StatusOK
		})
		if len(l.Streams) != 1 || l.Streams[0].Node != "c" {
			t.Errorf("%s", l.text)
		}
		if l := s.api(t, "GET", "/api/clients?node=x"); l.status != http.StatusNotFound {
			t.Errorf("of a node that there is not: %d", l.status)
		}
		relayEventually(t, "a stream of any node", func() bool { return s.api(t, "GET", "/api/streams/live/s").status == http.StatusOK })
	}
	if l := nodes[1].api(t, "GET", "/api/streams?node=self"); len(l.Streams) != 0 || l.Unanswered != nil {
		t.Errorf("%s", l.text)
	}
	if status, _ := nodes[0].get(t, "/api/streams?node=c"); status != http.StatusUnauthorized {
		t.Errorf("without the API token: %d", status)
	}
	for _, line := range []string{"sluice_cluster_nodes 3\n", "sluice_cluster_streams 1\n", "sluice_cluster_pulls 1\n", `sluice_cluster_node_streams{node="a"} 1` + "\n", `sluice_cluster_node_streams{node="b"} 0` + "\n"} {
		relayEventually(t, "the metrics have "+line, func() bool { return strings.Contains(nodes[1].api(t, "GET", "/metrics").text, line) })
	}
}

// A publisher that sends nothing still has its stream on the nodes that pull it, also when they have
// connected again, and they say where from.
func TestClusterPullsFromASilentPublisher(t *testing.T) {
	nodes := startNodes(t, 2, nil)
	a, b := nodes[0], nodes[1]
	p := a.publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	b.knows(t, "live/s", "a")
	v := b.watch(t, "/live/s.flv")
	v.until(t, "picture 4")
	relayEventually(t, "the pull has connected twice more", func() bool {
		b.cluster.pulls.Again("live/s")
		return b.cluster.pulls.Stats().Reconnects >= 2
	})
	relayEventually(t, "the node says where it pulls from", func() bool { return b.cluster.From("live/s") == "a" })
	p.send(t, clusterTags(5, 10)...)
	v.until(t, "picture 9")
	if got := len(v.rising(t)); got != 10 {
		t.Errorf("%d pictures of 10", got)
	}
}

// A node that is known and does not answer is named.
func TestClusterNamesANodeThatDoesNotAnswer(t *testing.T) {
	nodes := startNodes(t, 2, func(c *relayConfig) { c.times.Ask = 3 * time.Second })
	nodes[0].web.Nodes = withGhost{nodes[0].cluster}
	var l nodeList
	relayEventually(t, "b answers", func() bool {
		l = nodes[0].api(t, "GET", "/api/clients")
		return len(l.Unanswered) == 1
	})
	if l.Unanswered[0].Node != "ghost" || l.Unanswered[0].Reason == "" {
		t.Errorf("%s", l.text)
	}
	if l := nodes[0].api(t, "GET", "/api/streams/live/s?node=ghost"); l.status != http.StatusGatewayTimeout {
		t.Errorf("%d %s", l.status, l.text)
	}
}

// withGhost knows a node that there is not.
type withGhost struct{ *clustered }

func (w withGhost) Others() []string { return append(w.clustered.Others(), "ghost") }

// A session is ended, and banned, on whatever node it is; the ban holds on all, and so
// does its end.
func TestClusterKicksAndBansEverywhere(t *testing.T) {
	nodes := startNodes(t, 3, func(c *relayConfig) { c.APIToken = clusterToken })
	a, b, c := nodes[0], nodes[1], nodes[2]
	p := a.publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	c.knows(t, "live/s", "a")
	first, second := c.watch(t, "/live/s.flv"), a.watch(t, "/live/s.flv")
	first.until(t, "picture 4")
	second.until(t, "picture 4")
	ended := func(v *clusterViewer) func() bool {
		return func() bool {
			_, err := v.pictures()
			return err != nil
		}
	}
	var id string
	for _, s := range c.host.Register.List() {
		if s.Role == "viewer" {
			id = s.ID
		}
	}
	if l := b.api(t, "DELETE", "/api/clients/v99@c"); l.status != http.StatusNotFound {
		t.Errorf("a session that there is not: %d", l.status)
	}
	if status, _ := b.do(t, "DELETE", "/api/clients/"+id, nil); status != http.StatusUnauthorized {
		t.Errorf("without the API token: %d", status)
	}
	if l := b.api(t, "DELETE", "/api/clients/"+id); l.status != http.StatusNoContent {
		t.Fatalf("%d %s", l.status, l.text)
	}
	relayEventually(t, "the viewer of c has ended", ended(first))

	next := c.watch(t, "/live/s.flv")
	next.until(t, "picture 4")
	for _, s := range c.host.Register.List() {
		if s.Role == "viewer" {
			id = s.ID
		}
	}
	if l := b.api(t, "DELETE", "/api/clients/"+id+"?ban=10m&by=stream"); l.status != http.StatusOK {
		t.Fatalf("%d %s", l.status, l.text)
	}
	relayEventually(t, "the viewers of all nodes have ended", func() bool { return ended(next)() && ended(second)() })
	var ban string
	for _, s := range nodes {
		relayEventually(t, "the ban holds on "+s.cluster.Name(), func() bool {
			status, _ := s.get(t, "/live/s.flv")
			return status == http.StatusForbidden
		})
		if l := s.api(t, "GET", "/api/bans"); len(l.Bans) != 1 || !strings.HasSuffix(l.Bans[0].ID, "@c") {
			t.Errorf("%s", l.text)
		} else {
			ban = l.Bans[0].ID
		}
	}
	// What was not given to other nodes, as in a partition, they ask for.
	if _, err := b.host.Gate.Ban(access.Ban{By: access.BanAddress, Value: "192.0.2.1"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	relayEventually(t, "the others ask for what is new", func() bool { return len(a.host.Gate.Bans()) == 2 && len(c.host.Gate.Bans()) == 2 })
	if l := a.api(t, "DELETE", "/api/bans/"+ban); l.status != http.StatusNoContent {
		t.Fatalf("%d %s", l.status, l.text)
	}
	for _, s := range nodes {
		relayEventually(t, "the ban is lifted on "+s.cluster.Name(), func() bool { return len(s.host.Gate.Bans()) == 1 })
	}
}
