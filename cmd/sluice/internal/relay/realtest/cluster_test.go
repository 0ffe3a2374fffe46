//go:build linux

package realtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// clusterEnv has the secret of a test's cluster: nodes of another test never join, also when
// they have got the port of one that has ended.
func clusterEnv(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("SLUICE_CLUSTER_SECRET=a secret of %s in process %d", name, os.Getpid())
}

// node starts a node of a cluster, which joins the others.
func node(t *testing.T, name string, others ...*server) *server {
	t.Helper()
	o := flags("--cluster --cluster-address 127.0.0.1:0 --grace 20s --node-name " + name)
	o.env = []string{clusterEnv(t)}
	for _, s := range others {
		o.flags = append(o.flags, "--join", s.Cluster)
	}
	return serve(t, o)
}

type clusterStatus struct {
	Nodes   []struct{ Name string }
	Streams []struct {
		Node   string
		S      string
		Winner bool
	}
	Problems []string
}

// awaitCluster waits until a node knows so many, itself included, and whose stream it is.
func (s *server) awaitCluster(t *testing.T, nodes int, stream, winner string) {
	t.Helper()
	eventually(t, lengthened(20*time.Second), func() string {
		var c clusterStatus
		s.get(t, "/api/cluster", &c)
		if len(c.Nodes) != nodes {
			return "the wrong number of nodes"
		}
		got := ""
		for _, h := range c.Streams {
			if h.S == stream && h.Winner {
				got = h.Node
			}
		}
		if got != winner {
			return "the stream is on node " + got + ", not " + winner
		}
		return ""
	})
}

// winnersAmong are the nodes whose publication of live/s counts, as a node sees it; none unless
// it knows so many nodes.
func (s *server) winnersAmong(t *testing.T, nodes int) (list []string) {
	t.Helper()
	var c clusterStatus
	if s.get(t, "/api/cluster", &c); len(c.Nodes) != nodes {
		return nil
	}
	for _, h := range c.Streams {
		if h.S == "live/s" && h.Winner {
			list = append(list, h.Node)
		}
	}
	return list
}

// Three nodes, a publisher on one, viewers of three protocols on the others. The publisher's node is killed; its encoder goes to another, and the viewers
// go on. So they do when a node without their stream's publisher is killed.
func TestClusterSurvivesKills(t *testing.T) {
	t.Parallel()
	a := node(t, "a")
	b := node(t, "b", a)
	c := node(t, "c", a)
	p := publishHTTP(t, "POST", "http://"+a.HTTP+"/live/s.flv")
	f := feedTo(t, p, pace{})
	for _, s := range []*server{a, b, c} {
		s.awaitCluster(t, 3, "live/s", "a")
	}
	viewers := []*viewer{c.view(t, "flv", "s", ""), c.view(t, "rtmp", "s", ""), c.view(t, "ws", "s", ""), b.view(t, "flv", "s", "")}
	checkViewers(t, f, viewers)
	a.kill()
	b.awaitCluster(t, 2, "live/s", "")
	p = publishHTTP(t, "POST", "http://"+b.HTTP+"/live/s.flv")
	all := make(chan struct{})
	f = feedTo(t, p, pace{hold: all})
	c.awaitCluster(t, 2, "live/s", "b")
	for _, v := range viewers {
		eventually(t, lengthened(10*time.Second), func() string {
			if begun := f.published(); len(begun) < lead || !sumsContain(v.media(), begun[:lead]) {
				return v.name + " has not got the beginning of what came after the kill"
			}
			return ""
		})
	}
	close(all)
	for _, v := range viewers {
		v.awaitMedia(t, len(v.media())+60)
		checkSteady(t, v)
	}
	d := node(t, "d", b)
	d.awaitCluster(t, 3, "live/s", "b")
	more := d.view(t, "flv", "s", "")
	more.awaitMedia(t, 30)
	c.kill() // an edge: the others notice nothing
	before := len(more.media())
	more.awaitMedia(t, before+30)
	checkSteady(t, more)
	b.awaitCluster(t, 2, "live/s", "b")
	if n := len(b.stderr.matches("cannot be read|panic")); n > 0 {
		t.Errorf("the log has %d lines of what cannot be", n)
	}

	status := start(t, []string{"SLUICE_API_TOKEN=" + apiToken}, sluice(t), "cluster", "status", "--url", "http://"+b.HTTP)
	if code := status.wait(t, lengthened(20*time.Second)); code != 0 || !strings.Contains(status.stdout.String(), "node b") {
		t.Errorf("status: %d: %s%s", code, status.stdout.String(), status.stderr.String())
	}
}
