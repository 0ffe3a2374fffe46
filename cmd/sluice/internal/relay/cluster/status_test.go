package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/transport"
)

// What failed is a problem for a while, not until the node ends.
func TestFaultsPass(t *testing.T) {
	now := time.Now()
	f := transport.Fault{At: now, Err: errors.New("a wrong secret")}
	if got := lately("messages are refused", f, now.Add(5*time.Second)); len(got) != 1 || got[0] != "messages are refused, the latest 5s ago: a wrong secret" {
		t.Error(got)
	}
	if got := lately("", f, now.Add(recent)); len(got) > 0 {
		t.Error(got)
	}
	if got := lately("", transport.Fault{}, now); len(got) > 0 {
		t.Error(got)
	}
}

func TestProblemsOfConnections(t *testing.T) {
	now := time.Now()
	alone := &Node{}
	joins := &Node{options: Options{Join: []string{"a:7946", "[::1]:7946"}}}
	failed := transport.Stats{LastError: transport.Fault{At: now, Err: errors.New("it says no")}}
	for _, c := range []struct {
		node *Node
		s    Status
		t    transport.Stats
		want string
	}{
		{alone, Status{Connected: true}, transport.Stats{}, ""},
		{joins, Status{Connected: true, Links: 1}, transport.Stats{}, ""},
		{joins, Status{Connected: true}, transport.Stats{}, "none of those to join, a:7946, [::1]:7946, "},
		{alone, Status{}, transport.Stats{}, "out of reach: "},
		{alone, Status{}, failed, "out of reach (it says no): "},
		{alone, Status{Connected: true, Links: 1}, failed, "NATS has failed, the latest 0s ago: it says no"},
	} {
		got := c.node.problems(&c.s, c.t, now)
		if (c.want == "") != (len(got) == 0) || len(got) > 1 || c.want != "" && !strings.Contains(got[0], c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
