package cluster

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster/directory"
)

// The viewers of a stream are on one node while that has room, and those of many streams
// on all.
func TestChoose(t *testing.T) {
	fresh := func() []directory.NodeStatus {
		list := []directory.NodeStatus{{Name: "self", Self: true, Load: 1}}
		for i := range 5 {
			list = append(list, directory.NodeStatus{Name: fmt.Sprint("n", i), Play: fmt.Sprintf("http://n%d", i), Room: 100})
		}
		return list
	}
	add := func(nodes []directory.NodeStatus, stream string) string {
		name, _ := choose(stream, nodes, false)
		for i := range nodes {
			if o := &nodes[i]; o.Name == name {
				o.Room--
				o.Load += 0.01
			}
		}
		return name
	}
	nodes, used := fresh(), map[string]int{}
	for range 40 {
		used[add(nodes, "live/s")]++
	}
	if len(used) != 1 {
		t.Errorf("40 viewers of a stream are on %v", used)
	}
	nodes, used = fresh(), map[string]int{}
	for i := range 250 {
		used[add(nodes, fmt.Sprint("live/", i))]++
	}
	for name, n := range used {
		if n > 70 || name == "self" || name == "" {
			t.Errorf("%d of 250 are on %q", n, name)
		}
	}
	nodes, used = fresh(), map[string]int{}
	for range 1000 {
		used[add(nodes, "live/s")]++
	}
	if used[""] < 500 || len(used) != 6 {
		t.Errorf("with room for 500 a thousand are on %v", used)
	}
	for name, n := range used {
		if name != "" && n > 91 {
			t.Errorf("%d are on %s", n, name)
		}
	}
	for what, change := range map[string]func(*directory.NodeStatus){
		"draining": func(o *directory.NodeStatus) { o.Drains = true },
		"full":     func(o *directory.NodeStatus) { o.Room = 0 },
		"loaded":   func(o *directory.NodeStatus) { o.Load = 0.95 },
		"unknown":  func(o *directory.NodeStatus) { o.Play = "" },
	} {
		nodes := fresh()
		for i := range nodes {
			change(&nodes[i])
		}
		if name, _ := choose("live/s", nodes, false); name != "" {
			t.Errorf("%s: %s", what, name)
		}
	}
	if name, _ := choose("live/s", fresh(), true); name != "" {
		t.Errorf("a viewer over TLS is sent to %s without", name)
	}
}
