package relay

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
)

// recentOf returns the latest events of a kind, in short.
func (s *relayServer) recentOf(kind string) []string { return recentOf(&s.web.Recent, kind) }

func recentOf(r *hooks.Recent, kind string) (list []string) {
	events, _ := r.After(0)
	for _, v := range events {
		if v.Event == kind {
			list = append(list, fmt.Sprintf("%s%s%s %s %s", v.Stream, v.Node, v.Target, v.Action, v.Code))
		}
	}
	return list
}

func TestEventOfARefusal(t *testing.T) {
	s := startRelay(t, nil)
	if status, _ := s.get(t, "/live/none.flv"); status/100 != 4 {
		t.Fatal(status)
	}
	if got := fmt.Sprint(s.recentOf(hooks.Refused)); got != "[live/none play not_found]" {
		t.Error(got)
	}
}

// The states of a push are events, but not each attempt.
func TestEventsOfPushes(t *testing.T) {
	var recent hooks.Recent
	w := pushWatch{report: hooks.Reporter{&recent}}
	for _, state := range []string{push.Connecting, push.Live, push.Live, push.Behind, push.Waiting, push.Connecting, push.Waiting, push.Connecting, push.Live, ""} {
		var list []push.Status
		if state != "" {
			list = []push.Status{{Stream: "live/s", Target: "->there", State: state}}
		}
		w.look(list)
	}
	want := []string{"live/s->there  live", "live/s->there  behind", "live/s->there  waiting", "live/s->there  live"}
	if got := recentOf(&recent, hooks.PushChanged); !slices.Equal(got, want) || len(w.states) != 0 {
		t.Errorf("%q", got)
	}
}

func TestEventsOfNodes(t *testing.T) {
	nodes := startNodes(t, 2, nil)
	relayEventually(t, "the event that b is there", func() bool { return slices.Contains(nodes[0].recentOf(hooks.NodeJoined), "b  ") })
	nodes[1].Close()
	relayEventually(t, "the event that b has left", func() bool { return slices.Contains(nodes[0].recentOf(hooks.NodeLeft), "b  left") })
}
