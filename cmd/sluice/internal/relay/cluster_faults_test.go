package relay

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/internal/loopback"
)

// Two publishers of one name begin on two nodes at the same time, again and again: all
// nodes have the same one, and the other is ended, with the reason.
func TestClusterPublishersRace(t *testing.T) {
	for _, policy := range []string{config.TakeoverRefuse, config.TakeoverReplace} {
		t.Run(policy, func(t *testing.T) {
			nodes := startNodes(t, 3, func(c *relayConfig) { c.Takeover = policy })
			for i := range 10 {
				path := fmt.Sprintf("/live/s%d.flv", i)
				var both sync.WaitGroup
				pipes := make([]*relayPipe, 2)
				for j := range pipes {
					both.Go(func() {
						pipes[j] = nodes[j].publishing(t, path)
						for _, g := range clusterTags(0, 3) {
							pipes[j].Write(g.Append(nil)) // it fails for who has lost already
						}
					})
				}
				both.Wait()
				loser := 0
				select {
				case a := <-pipes[0].answer:
					pipes[0].answer <- a
				case a := <-pipes[1].answer:
					pipes[1].answer <- a
					loser = 1
				case <-time.After(relayWait):
					t.Fatalf("round %d: both publish", i)
				}
				winner := nodes[1-loser].cluster.Name()
				for _, s := range nodes {
					s.knows(t, fmt.Sprintf("live/s%d", i), winner)
				}
				if a := pipes[loser].answered(t); a.status != http.StatusConflict || !strings.Contains(a.text, "node "+winner) {
					t.Errorf("round %d: the publisher that lost to %s gets %+v", i, winner, a)
				}
			}
		})
	}
}

// Another node wins a stream when this node's publisher is admitted and not yet in the
// register: it is ended all the same.
func TestClusterEndsAPublisherThatHasLostAlready(t *testing.T) {
	nodes := startNodes(t, 2, func(c *relayConfig) { c.Takeover = config.TakeoverReplace })
	a, b := nodes[0], nodes[1]
	if _, err := a.cluster.Publish("live/s", "x"); err != nil {
		t.Fatal(err)
	}
	b.knows(t, "live/s", "a")
	p := b.publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 3)...)
	a.knows(t, "live/s", "b")
	c := a.host.Begin(session.RolePublisher, session.Info{Stream: "live/s"})
	defer c.End(nil)
	var reason error
	c.Attach(nil, func(err error) { reason = err })
	if !errors.Is(reason, session.ErrElsewhere) || !strings.Contains(reason.Error(), "node b") {
		t.Errorf("it is ended for %v", reason)
	}
}

// An outside NATS ends and comes back: what is known stays usable, streams of a node's own
// are served, the status says what is wrong, and what was published meanwhile is known.
func TestClusterWithoutItsNATS(t *testing.T) {
	begin := func(port int) *server.Server {
		s, err := server.NewServer(&server.Options{Host: loopback.Host(), Port: port, NoSigs: true, NoLog: true})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		if !s.ReadyForConnections(relayWait) {
			t.Fatal("NATS does not start")
		}
		return s
	}
	outside := begin(server.RANDOM_PORT)
	defer func() { outside.Shutdown() }()
	port := outside.Addr().(*net.TCPAddr).Port
	nodes := startNodes(t, 2, func(c *relayConfig) {
		c.ClusterAddress, c.Join, c.NATS = "", nil, outside.ClientURL()
	})
	a, b := nodes[0], nodes[1]
	p := a.publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 1)...)
	b.knows(t, "live/s", "a")
	outside.Shutdown()
	outside.WaitForShutdown()
	relayEventually(t, "b says that NATS is away", func() bool {
		s := b.nodeStatus()
		return !s.Connected && s.Links == 0 && len(s.Problems) == 1
	})
	if status, body := b.get(t, "/healthz"); status != http.StatusOK || !strings.Contains(body, "NATS is out of reach") {
		t.Errorf("/healthz answers %d, %q", status, body)
	}
	far, near := b.watch(t, "/live/s.flv"), a.watch(t, "/live/s.flv") // a pull that begins without NATS
	own := b.publishing(t, "/live/t.flv")
	own.send(t, clusterTags(0, 5)...)
	b.received(t, "live/t", 6)
	p.send(t, clusterTags(1, 20)...)
	far.until(t, "picture 19")
	near.until(t, "picture 19")
	b.watch(t, "/live/t.flv").until(t, "picture 4")
	outside = begin(port)
	a.knows(t, "live/t", "b")
	if _, body := b.get(t, "/healthz"); body != "ok\n" {
		t.Errorf("/healthz answers %q with NATS", body)
	}
	p.send(t, clusterTags(20, 30)...)
	far.until(t, "picture 29")
	far.same(t, clusterTags(0, 30))
}

// A node with another secret stays alone, and its log says why.
func TestClusterNodeWithAnotherSecret(t *testing.T) {
	a := startNodes(t, 1, nil)[0]
	other := startRelay(t, func(c *relayConfig) {
		c.Cluster, c.NodeName, c.ClusterSecret, c.ClusterAddress = true, "b", "x"+clusterSecret(t), "127.0.0.1:0"
		c.Join = []string{a.Addresses()["cluster-address"]}
	})
	endTogether(t, a, other)
	other.log.line(t, "level=WARN", "has a problem", "has the same secret")
	if n := len(a.nodeStatus().Nodes); n != 1 {
		t.Errorf("%d nodes", n)
	}
}

// Two nodes of one name, and a third: all say so, and the third one's streams are served.
func TestClusterNamesake(t *testing.T) {
	nodes := startNodes(t, 2, nil)
	twin := startRelay(t, func(c *relayConfig) {
		c.Cluster, c.NodeName, c.ClusterSecret, c.ClusterAddress = true, "b", clusterSecret(t), "127.0.0.1:0"
		c.Join = []string{nodes[0].Addresses()["cluster-address"], "nosuch.invalid:7946"}
	})
	endTogether(t, append(nodes, twin)...)
	for _, s := range []*relayServer{nodes[1], twin} {
		relayEventually(t, "a node says that there is another of its name", func() bool {
			return strings.Contains(fmt.Sprint(s.nodeStatus().Problems), "another node is called b")
		})
	}
	p := nodes[0].publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	for _, s := range []*relayServer{nodes[1], twin} {
		s.knows(t, "live/s", "a")
		s.watch(t, "/live/s.flv").until(t, "picture 4")
	}
}

// A node advertises an address at which it does not listen: another that wants to pull from
// it says so.
func TestNodeWithAWrongAddress(t *testing.T) {
	nowhere := loopback.Free(t)
	nodes := startNodes(t, 2, func(c *relayConfig) {
		if c.NodeName == "a" {
			c.Advertise = "http://" + nowhere
		}
	})
	a, b := nodes[0], nodes[1]
	p := a.publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 1)...)
	b.knows(t, "live/s", "a")
	if got := b.nodeStatus().Problems; len(got) > 0 {
		t.Errorf("before a pull: %q", got)
	}
	relayEventually(t, "b says that a cannot be pulled from", func() bool {
		b.get(t, "/live/s.flv")
		got := fmt.Sprint(b.nodeStatus().Problems)
		return strings.Contains(got, "node a cannot be pulled from at "+a.host.Config().Advertise) && strings.Contains(got, "refused")
	})
	if got := a.nodeStatus().Problems; len(got) > 0 {
		t.Errorf("a: %q", got)
	}
}
