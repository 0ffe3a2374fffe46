package relay

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
)

// clusterSecret is that of a test's clusters: nodes of another test never join, also when
// they have got the port of one that has ended.
func clusterSecret(t *testing.T) string {
	return fmt.Sprintf("a secret of %s in process %d", t.Name(), os.Getpid())
}

// startNodes starts nodes a, b, c... of one cluster, and waits until each knows all.
func startNodes(t *testing.T, n int, change func(*relayConfig)) []*relayServer {
	t.Helper()
	var nodes []*relayServer
	for i := range n {
		nodes = append(nodes, startRelay(t, func(c *relayConfig) {
			c.Cluster, c.NodeName, c.ClusterSecret, c.ClusterAddress = true, string(rune('a'+i)), clusterSecret(t), "127.0.0.1:0"
			if i > 0 {
				c.Join = []string{nodes[0].Addresses()["cluster-address"]}
			}
			if change != nil {
				change(c)
			}
		}))
	}
	endTogether(t, nodes...)
	for _, s := range nodes {
		relayEventually(t, "a node knows all nodes", func() bool { return len(s.nodeStatus().Nodes) == n })
	}
	return nodes
}

// endTogether ends nodes with the test: all of them, before memory is counted.
func endTogether(t *testing.T, nodes ...*relayServer) {
	t.Cleanup(func() {
		for _, s := range nodes {
			s.Close()
		}
		for _, s := range nodes {
			s.end(t)
		}
	})
}

func (s *relayServer) nodeStatus() cluster.Status { return s.cluster.node.Status() }

// knows waits until a node knows the winner of a stream; an empty name is none.
func (s *relayServer) knows(t *testing.T, stream, node string) {
	t.Helper()
	relayEventually(t, fmt.Sprintf("%s knows that %q has %s", s.cluster.node.Name(), node, stream), func() bool { return s.winner(stream) == node })
}

// winner is the node that has a stream, as a node knows it.
func (s *relayServer) winner(stream string) (node string) {
	for _, h := range s.nodeStatus().Streams {
		if h.Stream == stream && h.Winner {
			node = h.Node
		}
	}
	return node
}

// received waits until a stream has so many frames.
func (s *relayServer) received(t *testing.T, stream string, frames int64) {
	t.Helper()
	relayEventually(t, fmt.Sprintf("%d frames of %s", frames, stream), func() bool {
		st, ok := s.host.Hub.Stream(stream)
		return ok && st.Stats().FramesIn == frames
	})
}

// clusterTags are a header and pictures, a key frame every ten, each of its own.
func clusterTags(from, to int) []flvtest.Tag {
	var tags []flvtest.Tag
	if from == 0 {
		tags = append(tags, flvtest.Tag{Type: flv.TagVideo, Payload: "\x17\x00\x00\x00\x00config"})
	}
	for i := from; i < to; i++ {
		head := "\x27\x01\x00\x00\x00"
		if i%10 == 0 {
			head = "\x17\x01\x00\x00\x00"
		}
		tags = append(tags, flvtest.Tag{Type: flv.TagVideo, Time: uint32(40 * i), Payload: head + fmt.Sprintf("picture %d", i)})
	}
	return tags
}

// A clusterViewer collects the pictures that a viewer gets, in the background.
type clusterViewer struct {
	mu   sync.Mutex
	tags []flvtest.Tag
	err  error
}

func (s *relayServer) watch(t *testing.T, path string) *clusterViewer {
	t.Helper()
	_, answer := s.raw(t, "GET "+path+" HTTP/1.1\nHost: localhost\n\n")
	resp, err := http.ReadResponse(answer, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v, %+v", path, err, resp)
	}
	r := flvtest.NewReader(resp.Body) // which ends with the connection
	v := &clusterViewer{}
	go func() {
		for {
			g, err := r.Next()
			v.mu.Lock()
			if err != nil {
				v.err = err
				v.mu.Unlock()
				return
			}
			v.tags = append(v.tags, g)
			v.mu.Unlock()
		}
	}()
	return v
}

// pictures returns the pictures so far and whether the viewer is still connected.
func (v *clusterViewer) pictures() (list []flvtest.Tag, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, g := range v.tags {
		if strings.Contains(g.Payload, "picture") {
			list = append(list, g)
		}
	}
	return list, v.err
}

// until waits for a picture.
func (v *clusterViewer) until(t *testing.T, last string) {
	t.Helper()
	relayEventually(t, "a viewer gets "+last, func() bool {
		list, err := v.pictures()
		if err != nil {
			t.Fatalf("a viewer was disconnected: %v", err)
		}
		return len(list) > 0 && strings.HasSuffix(list[len(list)-1].Payload, last)
	})
}

// same checks that the viewer has exactly these pictures, with rising times.
func (v *clusterViewer) same(t *testing.T, want []flvtest.Tag) {
	t.Helper()
	var sent []flvtest.Tag
	for _, g := range want {
		if strings.Contains(g.Payload, "picture") {
			sent = append(sent, g)
		}
	}
	got, _ := v.pictures()
	for i := range min(len(got), len(sent)) {
		if got[i] != sent[i] {
			t.Fatalf("picture %d of the viewer is %v %q, not %v %q", i, got[i].Time, got[i].Payload[5:], sent[i].Time, sent[i].Payload[5:])
		}
	}
	if len(got) != len(sent) {
		t.Errorf("the viewer has %d pictures of %d", len(got), len(sent))
	}
}

// What is published on one node is watched on all, byte for byte and over every
// protocol, with one pull for each node.
func TestClusterServesAStreamEverywhere(t *testing.T) {
	nodes := startNodes(t, 3, nil)
	p := nodes[0].publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 1)...)
	var viewers []*clusterViewer
	for _, s := range nodes {
		s.knows(t, "live/s", "a")
		for range 3 {
			viewers = append(viewers, s.watch(t, "/live/s.flv?wait=10"))
		}
	}
	for _, v := range viewers {
		v.until(t, "picture 0")
	}
	p.send(t, clusterTags(1, 100)...)
	for _, v := range viewers {
		v.until(t, "picture 99")
		v.same(t, clusterTags(0, 100))
	}
	relayEventually(t, "the publisher's node has 5 viewers, 3 of its own and 2 nodes", func() bool { // a pull may just begin again
		return nodes[0].host.Register.Number(session.RoleViewer) == 3+2
	})
	relayEventually(t, "the copies are in the directory", func() bool {
		copies := 0
		for _, h := range nodes[0].nodeStatus().Streams {
			if h.Stream == "live/s" && h.Level == 1 && h.From == "a" {
				copies++
			}
		}
		return copies == 2
	})
	if status, _ := nodes[1].get(t, "/live/none.flv"); status != http.StatusNotFound {
		t.Errorf("a stream that no node has: %d", status)
	}
}

// A way is a proxy through which other nodes reach one, until it is closed.
type way struct {
	net.Listener
	to atomic.Pointer[string]

	mu    sync.Mutex
	conns []net.Conn
}

func newWay(t *testing.T) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{Listener: l}
	t.Cleanup(w.cut)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			to := w.to.Load()
			if to == nil { // nodes look after one that is silent
				near.Close()
				continue
			}
			far, err := net.Dial("tcp", *to)
			if err != nil {
				near.Close()
				continue
			}
			w.mu.Lock()
			w.conns = append(w.conns, near)
			w.mu.Unlock()
			pass := func(to, from net.Conn) {
				io.Copy(to, from)
				to.Close()
				from.Close()
			}
			go pass(far, near)
			go pass(near, far)
		}
	}()
	return w
}

// cut closes the connections.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.conns {
		conn.Close()
	}
	w.conns = nil
}

// closeLast lets no more connections through, and closes the latest.
func (w *way) closeLast() {
	w.Listener.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[len(w.conns)-1].Close()
}

// A node whose connection to the publisher's breaks again and again goes on with the
// next frame, and so it does with another node that has the stream.
func TestClusterLosesASourceAndNoFrame(t *testing.T) {
	way := newWay(t)
	nodes := startNodes(t, 3, func(o *relayConfig) {
		if o.NodeName == "a" {
			o.Advertise = "http://" + way.Addr().String()
		}
	})
	a, b, c := nodes[0], nodes[1], nodes[2]
	way.to.Store(&a.http)
	p := a.publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 1)...)
	b.knows(t, "live/s", "a")
	c.knows(t, "live/s", "a")
	viewers := []*clusterViewer{b.watch(t, "/live/s.flv"), c.watch(t, "/live/s.flv")}
	for _, v := range viewers {
		v.until(t, "picture 0")
	}
	next := 1
	for range 10 {
		p.send(t, clusterTags(next, next+3)...)
		way.cut()
		p.send(t, clusterTags(next+3, next+7)...)
		next += 7
		for _, v := range viewers {
			v.until(t, fmt.Sprint("picture ", next-1))
		}
	}
	// From now on no node can connect to a, and one of them loses its connection.
	relayEventually(t, "b and c are sources of one another", func() bool {
		return len(c.cluster.Sources("live/s")) == 2 && len(b.cluster.Sources("live/s")) == 2 && a.host.Register.Number(session.RoleViewer) == 2
	})
	way.closeLast()
	p.send(t, clusterTags(next, next+50)...)
	next += 50
	for _, v := range viewers {
		v.until(t, fmt.Sprint("picture ", next-1))
		v.same(t, clusterTags(0, next))
	}
}

// The publisher's node goes, and the stream is published on another: viewers stay.
func TestClusterPublisherMoves(t *testing.T) {
	nodes := startNodes(t, 3, nil)
	a, b, c := nodes[0], nodes[1], nodes[2]
	p := a.publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 25)...)
	a.received(t, "live/s", 26)
	b.knows(t, "live/s", "a")
	c.knows(t, "live/s", "a")
	viewers := []*clusterViewer{b.watch(t, "/live/s.flv"), c.watch(t, "/live/s.flv")}
	for _, v := range viewers {
		v.until(t, "picture 24")
	}
	a.Close()
	b.knows(t, "live/s", "")
	c.knows(t, "live/s", "")
	again := b.publishing(t, "/live/s.flv")
	again.send(t, clusterTags(0, 10)...)
	for _, v := range viewers {
		v.until(t, "picture 9")
	}
	again.send(t, clusterTags(10, 40)...)
	for _, v := range viewers {
		v.until(t, "picture 39")
		list, _ := v.pictures()
		for i := 1; i < len(list); i++ {
			if list[i].Time <= list[i-1].Time {
				t.Fatalf("picture %d has time %d after %d", i, list[i].Time, list[i-1].Time)
			}
		}
		if n := 5 + 40; len(list) != n { // from the newest key frame on
			t.Errorf("a viewer has %d pictures, not %d", len(list), n)
		}
	}
}

// A second publisher on another node is refused, with the reason.
func TestClusterRefusesASecondPublisher(t *testing.T) {
	nodes := startNodes(t, 2, nil)
	p := nodes[0].publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	nodes[1].knows(t, "live/s", "a")
	v := nodes[1].watch(t, "/live/s.flv") // pulled there
	v.until(t, "picture 4")
	if a := nodes[1].publishing(t, "/live/s.flv").answered(t); a.status != http.StatusConflict || !strings.Contains(a.text, "on node a") {
		t.Errorf("%+v", a)
	}
	p.send(t, clusterTags(5, 10)...)
	v.until(t, "picture 9")
	p.Close()
	if a := p.answered(t); a.status/100 != 2 {
		t.Errorf("%+v", a)
	}
	nodes[1].knows(t, "live/s", "")
	next := nodes[1].publishing(t, "/live/s.flv") // now it may
	next.send(t, clusterTags(0, 5)...)
	nodes[0].knows(t, "live/s", "b")
	v.until(t, "picture 4")
}

// With replace the latest publisher has the name everywhere, and viewers stay.
func TestClusterReplacesAPublisher(t *testing.T) {
	nodes := startNodes(t, 2, func(c *relayConfig) {
		c.Takeover, c.Grace = config.TakeoverReplace, relayWait
	})
	p := nodes[0].publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 15)...)
	nodes[0].received(t, "live/s", 16)
	nodes[1].knows(t, "live/s", "a")
	viewers := []*clusterViewer{nodes[0].watch(t, "/live/s.flv"), nodes[1].watch(t, "/live/s.flv")}
	for _, v := range viewers {
		v.until(t, "picture 14")
	}
	next := nodes[1].publishing(t, "/live/s.flv")
	next.send(t, clusterTags(0, 3)...)
	p.answered(t)
	nodes[0].knows(t, "live/s", "b")
	for _, v := range viewers {
		v.until(t, "picture 2")
	}
}

// Only nodes with the secret get a protected stream from one another; what a viewer
// may do is decided where he is.
func TestClusterGrants(t *testing.T) {
	nodes := startNodes(t, 2, func(c *relayConfig) {
		c.Protect, c.TokenSecret = []string{"play"}, clusterSecret(t)
	})
	p := nodes[0].publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	nodes[1].knows(t, "live/s", "a")
	if status, _ := nodes[1].get(t, "/live/s.flv"); status/100 != 4 {
		t.Errorf("a viewer without a token: %d", status)
	}
	token := access.Sign([]byte(clusterSecret(t)), access.Play, "live/s", time.Now().Add(time.Hour))
	nodes[1].watch(t, "/live/s.flv?token="+url.QueryEscape(token)).until(t, "picture 4")

	to := nodes[0]
	good := nodes[1].cluster.Grant("live/s", "a").Get(cluster.GrantKey)
	for what, q := range map[string]string{
		"nothing":          "hop=0.0",
		"an empty grant":   "hop=0.0&grant=",
		"an altered grant": "hop=0.0&grant=" + url.QueryEscape(strings.Replace(good, "b.", "c.", 1)),
		"of another":       "hop=0.0&grant=" + url.QueryEscape(nodes[1].cluster.Grant("live/t", "a").Get(cluster.GrantKey)),
		"for another":      "hop=0.0&grant=" + url.QueryEscape(nodes[1].cluster.Grant("live/s", "b").Get(cluster.GrantKey)),
	} {
		if status, _ := to.get(t, "/live/s.flv?"+q); status/100 != 4 {
			t.Errorf("%s: %d", what, status)
		}
	}
	resp, r := to.playing(t, "/live/s.flv?hop=0.0&token="+url.QueryEscape(token))
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a viewer: %s", resp.Status)
	}
	for range 3 {
		if g, err := r.Next(); err != nil || g.Type != flv.TagVideo {
			t.Errorf("a viewer who asks for marks gets %v, %v", g.Type, err)
		}
	}
	if resp, _ := to.playing(t, "/live/s.flv?hop=0.0&grant="+url.QueryEscape(good)); resp.StatusCode != http.StatusOK {
		t.Errorf("a grant: %s", resp.Status)
	}
}

// A ban ends viewers, on their nodes: another node that pulls for those who may play is none.
func TestClusterBansEndNoPull(t *testing.T) {
	nodes := startNodes(t, 2, nil)
	p := nodes[0].publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	nodes[1].knows(t, "live/s", "a")
	pull := func() *flvtest.Reader {
		t.Helper()
		resp, r := nodes[0].playing(t, "/live/s.flv?"+nodes[1].cluster.Grant("live/s", "a").Encode())
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("a pull: %s", resp.Status)
		}
		return r
	}
	before := pull()
	ban, err := nodes[0].host.Gate.Ban(access.Ban{By: access.BanStream, Value: "live/s", Action: access.Play}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	nodes[0].web.Banned(ban, "the test")
	p.send(t, clusterTags(5, 10)...)
	for when, r := range map[string]*flvtest.Reader{"before": before, "behind": pull()} {
		for tag := (flvtest.Tag{}); !strings.HasSuffix(tag.Payload, "picture 9"); {
			if tag, err = r.Next(); err != nil {
				t.Fatalf("a pull that began %s the ban: %v", when, err)
			}
		}
	}
	if status, _ := nodes[0].get(t, "/live/s.flv"); status != http.StatusForbidden {
		t.Errorf("a viewer: %d", status)
	}
}

func TestClusterStatus(t *testing.T) {
	nodes := startNodes(t, 2, nil)
	p := nodes[0].publishing(t, "/live/s.flv")
	p.send(t, clusterTags(0, 5)...)
	nodes[1].knows(t, "live/s", "a")
	status, text := nodes[1].get(t, "/api/cluster")
	var got cluster.Status
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK {
		t.Fatal(status, err, text)
	}
	if got.Node != "b" || len(got.Nodes) != 2 || got.Nodes[0].URL != "http://"+nodes[0].http || len(got.Streams) != 1 || len(got.Problems) > 0 {
		t.Errorf("%s", text)
	}
	if _, text := nodes[1].get(t, "/metrics"); !strings.Contains(text, "\nsluice_cluster_nodes 2\n") {
		t.Error("the metrics do not have two nodes")
	}
}

// A server without a cluster has no engine, no port and no goroutine for one.
func TestNoClusterUnlessAsked(t *testing.T) {
	s := startRelay(t, nil)
	stacks := make([]byte, 4<<20)
	for _, name := range []string{"nats-io", "relay/cluster/"} {
		// Those of the tests before may take a moment to end.
		relayEventually(t, "no goroutine of "+name, func() bool {
			return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), name)
		})
	}
	if s.cluster != nil || s.host.Cluster != nil || s.Addresses()["cluster-address"] != "" {
		t.Error("it has a cluster")
	}
	if status, _ := s.get(t, "/api/cluster"); status != http.StatusNotFound {
		t.Errorf("/api/cluster: %d", status)
	}
}
