package cluster

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
)

// The listener of a process that is being killed accepts a connection after those to other
// nodes have broken. The node is looked after again, although it is not silent for long.
func TestNodeThatDiesSlowlyIsLookedAfterAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := directory.New(directory.Options{Node: "a", Run: 1})
	now := time.Now()
	m := directory.Message{Kind: directory.Digest, From: "b", Run: 1, Node: &directory.Node{URL: "http://" + l.Addr().String()}}
	dir.Receive(now, m)
	n := &Node{options: Options{Name: "a", Logger: slog.New(slog.DiscardHandler)}, dir: dir}
	look := newLookout(n)
	look.connected(now, []string{"b"})
	look.look(t.Context(), now)
	if len(look.looked) > 0 {
		t.Error("a node that is connected and was heard is looked after")
	}
	now = now.Add(time.Millisecond)
	look.connected(now, nil)
	look.look(t.Context(), now)
	n.running.Wait()
	if len(dir.Nodes(now)) != 2 {
		t.Fatal("a node that accepts a connection is forgotten")
	}
	l.Close()
	now = now.Add(lookAgain)
	look.look(t.Context(), now)
	n.running.Wait()
	if len(dir.Nodes(now)) != 1 {
		t.Error("a node that refuses connections is not forgotten")
	}

	dir.Receive(now, directory.Message{Kind: directory.Digest, From: "b", Run: 2, Node: m.Node})
	look.look(t.Context(), now.Add(time.Second))
	if len(look.looked)+len(look.lost) > 0 {
		t.Error("a node that was heard again is looked after")
	}
}
