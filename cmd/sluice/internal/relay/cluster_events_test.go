package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
)

// nodeEvents is an answer with the events of a cluster.
type nodeEvents struct {
	Events     []web.EventInfo
	Last       string
	Unanswered []web.Unanswered
}

// begun are the streams that began to be published, with their nodes.
func (e *nodeEvents) begun() (list []string) {
	for _, v := range e.Events {
		if v.Event.Event == hooks.PublishBegin {
			list = append(list, v.Stream+"@"+v.On)
		}
	}
	slices.Sort(list)
	return list
}

func (s *relayServer) eventsAfter(t *testing.T, after string) (e nodeEvents) {
	t.Helper()
	status, text := s.do(t, "GET", "/api/events?after="+url.QueryEscape(after), http.Header{"Authorization": {"Bearer " + clusterToken}})
	if err := json.Unmarshal([]byte(text), &e); err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v: %.200s", status, err, text)
	}
	return e
}

// slowNode does not answer in time while it is slow. No test has to wait for that time.
type slowNode struct {
	*clustered
	name string
	slow atomic.Bool
}

func (n *slowNode) Ask(ctx context.Context, node, method, target, client string) (status int, body []byte, err error) {
	if node == n.name && n.slow.Load() {
		return 0, nil, context.DeadlineExceeded
	}
	return n.clustered.Ask(ctx, node, method, target, client)
}

// Any node has the events of all, each once for a client that goes on where it was. One that
// does not answer is named, and what it has comes when it answers.
func TestClusterAnswersWithTheEventsOfAllNodes(t *testing.T) {
	nodes := startNodes(t, 3, func(c *relayConfig) { c.APIToken = clusterToken })
	a, b, c := nodes[0], nodes[1], nodes[2]
	slow := &slowNode{clustered: a.cluster, name: "c"}
	a.web.Nodes = slow
	publish := func(s *relayServer, stream string) {
		t.Helper()
		p := s.publishing(t, "/"+stream+".flv")
		p.send(t, flvtest.Clip(t)[:40]...)
		relayEventually(t, "the event that "+stream+" is published", func() bool {
			return slices.ContainsFunc(s.recentOf(hooks.PublishBegin), func(v string) bool { return strings.HasPrefix(v, stream) })
		})
	}
	publish(a, "live/a")
	publish(c, "live/c")
	cursors := map[*relayServer]string{}
	for _, s := range nodes {
		var all nodeEvents
		relayEventually(t, "the events of all nodes", func() bool {
			e := s.eventsAfter(t, all.Last)
			all.Events, all.Last = append(all.Events, e.Events...), e.Last
			return len(all.begun()) >= 2 && len(e.Unanswered) == 0
		})
		if got := fmt.Sprint(all.begun()); got != "[live/a@a live/c@c]" {
			t.Errorf("%s has %s", s.cluster.Name(), got)
		}
		for _, v := range all.Events {
			if !strings.HasSuffix(v.ID, "@"+v.On) || v.Session != "" && !strings.HasSuffix(v.Session, "@"+v.On) {
				t.Errorf("event %s of %s is on %s", v.ID, v.Session, v.On)
			}
		}
		cursors[s] = all.Last
	}
	if e := b.eventsAfter(t, cursors[b]+",99@gone"); len(e.begun()) > 0 {
		t.Errorf("again: %v", e.begun())
	}

	// Nodes that are away keep their places, so that what they had does not come again when they
	// are back; those that went first lose theirs when there are many.
	for s, last := range cursors {
		away := last
		for i := range 100 {
			away += fmt.Sprintf(",%d@gone%d", i, i)
		}
		e := s.eventsAfter(t, "7@back,"+away)
		if parts := strings.Split(e.Last, ","); len(parts) != 3+64 || parts[3] != "7@back" || parts[66] != "62@gone62" {
			t.Errorf("with 101 nodes that are away the next request is after %q", parts)
		}
	}

	slow.slow.Store(true)
	publish(b, "live/b")
	publish(c, "live/late")
	e := a.eventsAfter(t, cursors[a])
	if got := fmt.Sprint(e.begun()); got != "[live/b@b]" || len(e.Unanswered) != 1 || e.Unanswered[0].Node != "c" {
		t.Errorf("%s, without %v", got, e.Unanswered)
	}
	slow.slow.Store(false)
	relayEventually(t, "what c had", func() bool {
		e = a.eventsAfter(t, e.Last)
		return len(e.begun()) > 0
	})
	if got := fmt.Sprint(e.begun()); got != "[live/late@c]" {
		t.Errorf("then %s", got)
	}

	relayEventually(t, "those of one node", func() bool {
		status, text := a.do(t, "GET", "/api/events?node=c", http.Header{"Authorization": {"Bearer " + clusterToken}})
		e = nodeEvents{}
		return status == http.StatusOK && json.Unmarshal([]byte(text), &e) == nil
	})
	if got := fmt.Sprint(e.begun()); got != "[live/c@c live/late@c]" {
		t.Errorf("c alone: %s", got)
	}
	for path, want := range map[string]int{"/api/events": http.StatusUnauthorized, "/api/events?node=c": http.StatusUnauthorized} {
		if status, _ := a.do(t, "GET", path, nil); status != want {
			t.Errorf("%s without the API token: %d", path, status)
		}
	}
	if status, _ := a.do(t, "GET", "/api/events?after=1@a,x@b", http.Header{"Authorization": {"Bearer " + clusterToken}}); status != http.StatusBadRequest {
		t.Errorf("after what is no number: %d", status)
	}
}

// manyNodes are other nodes, each with its events; the last does not
// answer, and the one before says something else.
type manyNodes struct {
	*clustered
	names []string
	began time.Time
}

func (n *manyNodes) Others() []string { return n.names }

func (n *manyNodes) Ask(_ context.Context, node, _, _, _ string) (status int, body []byte, err error) {
	i := slices.Index(n.names, node)
	switch len(n.names) - i {
	case 1:
		return 0, nil, context.DeadlineExceeded
	case 2:
		return http.StatusOK, []byte(`{"events":[],"last":7}`), nil
	}
	var e nodeEvents
	for k := range 20 {
		at := n.began.Add(time.Duration(k*len(n.names)+i) * time.Millisecond)
		e.Events = append(e.Events, web.EventInfo{Event: hooks.Event{ID: fmt.Sprintf("%d@%s", k+1, node), Time: at, Event: hooks.PlayBegin}, On: node})
	}
	body, err = json.Marshal(map[string]any{"events": e.Events, "last": "20@" + node})
	return http.StatusOK, body, err
}

// The events of a thousand nodes are one list, by their times.
func TestEventsOfAThousandNodes(t *testing.T) {
	a := startNodes(t, 1, func(c *relayConfig) { c.APIToken = clusterToken })[0]
	many := &manyNodes{clustered: a.cluster, began: time.Unix(1_700_000_000, 0).UTC()}
	for i := range 1000 {
		many.names = append(many.names, fmt.Sprintf("n%d", i))
	}
	a.web.Nodes = many
	e := a.eventsAfter(t, "12@n999")
	if len(e.Events) != 998*20 || !slices.IsSortedFunc(e.Events, func(x, y web.EventInfo) int { return x.Time.Compare(y.Time) }) {
		t.Errorf("%d events", len(e.Events))
	}
	if len(e.Unanswered) != 2 || e.Unanswered[0].Node != "n998" || e.Unanswered[1].Node != "n999" {
		t.Errorf("without %v", e.Unanswered)
	}
	for _, part := range []string{"20@n0,", "20@n997,", "0@n998,", "12@n999"} {
		if !strings.Contains(e.Last+",", part) {
			t.Errorf("the next request is not after %s", part)
		}
	}
	if again := a.eventsAfter(t, e.Last); again.Last != e.Last { // it fits in a request
		t.Errorf("then after %.100s", again.Last)
	}
}
