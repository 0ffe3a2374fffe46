package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

const idleCPU = "idle-cpu" // part of a processor that a server uses with nothing to do

var _ = register(224, clusterGroup)

func clusterGroup() []lab.Scenario {
	many, pairs := relayWork{Form: relay.FLV, Viewers: 200}, relayWork{Form: relay.FLV, Viewers: 10, Window: 4 * time.Second, Hop: true}
	// The number of streams is odd, so that the viewers of each are at all edges in turn. What the
	// server does for itself and the publishers is taken off: it is more than what is asked for.
	each := relayWork{Form: relay.FLV, Streams: 45, Edges: 8, Unviewed: true, Window: 3 * time.Second}
	first := relayWork{Form: relay.RTMP, Streams: 200, Viewers: 200, OneByOne: true}
	now := []string{"--merge", "0s"}
	free := []string{"--max-streams", "0", "--max-streams-per-address", "0"}
	return []lab.Scenario{
		clusterScenario("edge-200", many.title()+", the processor time of their server", perGB, []lab.Target{
			{Variant: "edge", Against: "alone", AtMost: 1.05}, {Variant: "edge", Metric: framesLost, AtMost: 0},
		},
			many.variant("alone", "sluice serve --merge-adapt=false, published to by RTMP", sluiceServer(mergeAlways)),
			many.variant("edge", "the same as a node of a cluster, published to at another", clusterServer(1, atEdges, mergeAlways))),
		clusterScenario("hop-10", pairs.title()+", half of them a hop further away: how much later each frame comes to these", hopP99, []lab.Target{
			{Variant: "edge", Metric: hopP50, AtMost: 3e6}, {Variant: "edge", AtMost: 15e6}, {Variant: "edge", Metric: framesLost, AtMost: 0},
		},
			pairs.merge0("alone"),
			pairs.variant("edge", "half of the viewers at the publisher's node, half at another on the same processor", clusterServer(1, atBoth, now...))),
		clusterScenario("origin-8", "45 streams of 30 frames of 1,000 bytes a second, each to 8 by HTTP-FLV, the processor time of the publishers' server for what it sends", cpuPerSend, []lab.Target{
			{Variant: "edges", Against: "pulls", AtMost: 1.2},
		},
			// To wake a process on the same machine costs the sender more than all else: the
			// viewers of the load look by themselves, other relays are woken as edges are.
			each.variant("pulls", "to 8 relays of no cluster, which are viewers by HTTP-FLV", clusterServer(8, ofPulls, slices.Concat(now, free)...)),
			each.variant("viewers", "to viewers that need not be woken; 8 other nodes have nothing to do", clusterServer(8, atOrigin, slices.Concat(now, free)...)),
			each.variant("edges", "to 8 other nodes, with a viewer of each stream at each", clusterServer(8, ofOrigin, slices.Concat(now, free)...))),
		clusterScenario("first-200", "200 streams that nothing watches, until a viewer has a key frame, one after the other by RTMP", toKeyP99, []lab.Target{
			{Variant: "edge", AtMost: 150e6},
		},
			first.variant("alone", "sluice serve as it comes", sluiceServer(free...)),
			first.variant("edge", "the last of three nodes, published to at the first", clusterServer(2, atEdges, free...))),
		clusterScenario("idle-1", "nothing to do: processor time and resident memory", idleCPU, []lab.Target{
			{Variant: "node", AtMost: 0.005},
		},
			idleServer("alone", "sluice serve as it comes", sluiceServer()),
			idleServer("node", "sluice serve --cluster, with no other node", clusterServer(0, atOrigin))),
	}
}

func clusterScenario(name, title, metric string, targets []lab.Target, variants ...lab.Variant) lab.Scenario {
	sc := relayScenario(name, title, metric, variants[0].Name, targets, variants...)
	sc.Name = "cluster/" + name
	return sc
}

const (
	atEdges  = iota // the last node, with all viewers
	atOrigin        // the first node, with all viewers
	ofOrigin        // the first node, and each other one has its part of the viewers
	ofPulls         // the same, with others that are no nodes
	atBoth          // the last node; every other viewer is at the first
)

// clusterServer is a cluster, published to at its first node. The nodes are on one processor,
// but when the first is measured the others are on that of the load: what they do there, as on
// machines of their own, does not disturb it.
func clusterServer(edges, what int, flags ...string) relayServer {
	return func(env lab.Env, form string) (relayStarted, error) {
		cpus, err := echobench.Processors()
		if err != nil {
			return relayStarted{}, err
		}
		all, err := startServers(1+edges, func(before []relayStarted) (relayStarted, error) {
			args := append([]string{"--cluster", "--cluster-address", "127.0.0.1:0", "--node-name", fmt.Sprint("n", len(before))}, flags...)
			switch {
			case len(before) == 0:
				return startSluice(env, form, args...)
			case what == ofPulls:
				args = append([]string{"--origin", "http://" + before[0].view}, flags...)
			default:
				args = append(args, "--join", before[0].at.Cluster)
			}
			start := func() (relayStarted, error) { return startSluice(env, form, args...) }
			if what == atOrigin || what == ofOrigin || what == ofPulls {
				return echobench.OnProcessor(cpus[1], start)
			}
			return start()
		})
		switch {
		case err != nil:
			return relayStarted{}, err
		case what == atEdges:
			return asOne(all, edges, all[edges].view), nil
		case what == atBoth:
			return asOne(all, edges, all[0].view, all[edges].view), nil
		case what == atOrigin:
			return asOne(all, 0, all[0].view), nil
		}
		var views []string
		for _, s := range all[1:] {
			views = append(views, s.view)
		}
		return asOne(all, 0, views...), nil
	}
}

func idleServer(name, about string, s relayServer) lab.Variant {
	return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) {
		cpus, err := echobench.Processors()
		r := &relayRunner{env: env, server: s, cpus: cpus}
		return runner{run: func(int) (lab.Sample, error) { return r.idle() }}, err
	}}
}

func (r *relayRunner) idle() (sample lab.Sample, err error) {
	server, err := r.start()
	if err != nil {
		return sample, err
	}
	defer server.Stop()
	settle, window := 2*time.Second, 10*time.Second
	if r.env.Quick {
		settle, window = 50*time.Millisecond, 200*time.Millisecond
	}
	time.Sleep(settle) // what a start costs is not measured
	before, err := proc.CPU(server.PID())
	if err != nil {
		return sample, err
	}
	time.Sleep(window) // the time that is measured
	after, err := proc.CPU(server.PID())
	if err != nil {
		return sample, err
	}
	sample.Check, sample.Figures = 1, relayWork{}.figures(relay.Result{Busy: 1})
	resident, err := proc.Resident(server.PID())
	for _, name := range []string{framesLost, loadBusy, viewersClosed, sentLate} {
		delete(sample.Figures, name)
	}
	sample.Figures[idleCPU], sample.Figures[residentAll] = (after-before).Seconds()/window.Seconds(), float64(resident)
	return sample, err
}
