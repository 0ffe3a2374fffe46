package scenarios

import (
	"github.com/sluice-go/sluice/lab/internal/lab"
)

var _ = register(90, tcpGroup)

// tcpGroup reads real loopback connections on which another process writes.
// What is compared is the processor time of the reading process: time by the
// clock would say how fast the writer is.
func tcpGroup() []lab.Scenario {
	sizes := []struct {
		name, label string
		bytes       int
		ops         int
	}{
		{"128B", "128 B", 128, 500_000},
		{"1KB", "1 KB", 1 << 10, 100_000},
		{"16KB", "16 KB", 16 << 10, 8_000},
		{"256KB", "256 KB", 256 << 10, 600},
	}
	var group []lab.Scenario
	for _, size := range sizes {
		sc := lab.Scenario{
			Name:     "tcp/" + size.name,
			Title:    "frames of " + size.label + " over loopback TCP from another process, the reader's processor time",
			Op:       "frame",
			Metric:   lab.CPUPerOp,
			Baseline: "peek",
			Ops:      size.ops,
		}
		names := []string{"naive", "peek", "bufiox", "next", "range"}
		if size.bytes == 128 {
			names = append(names, "readbuf")
			sc.Targets = []lab.Target{
				{Variant: "next", Against: "peek", AtMost: 0.82},
				{Variant: "readbuf", Against: "peek", AtMost: 0.85},
			}
		} else {
			sc.Targets = []lab.Target{{Variant: "next", Against: "peek", AtMost: 1.10, Upper: true}}
		}
		for _, w := range tcpWays(allFrames, names...) {
			sc.Variants = append(sc.Variants, overTCP(w, func(env lab.Env) string {
				return frameKind{env.Seed, size.bytes, size.bytes}.String()
			}))
		}
		group = append(group, sc)
	}
	flv := lab.Scenario{
		Name:     "tcp/flv",
		Title:    "an FLV file over loopback TCP from another process, walked tag by tag, the reader's processor time",
		Op:       "tag",
		Metric:   lab.CPUPerOp,
		Baseline: "peek",
		Ops:      60_000,
	}
	for _, w := range tcpWays(allTags, "naive", "peek", "bufiox", "next", "range") {
		flv.Variants = append(flv.Variants, overTCP(w, func(lab.Env) string { return tagKind }))
	}
	return append(group, flv)
}

// tcpWays is the floor under the name that it has on a connection, and the
// named ways.
func tcpWays(ways []way, names ...string) []way {
	bare := way{"conn-read", "conn.Read of 64 KiB and nothing else: the floor", newFloor}
	return append([]way{bare}, pick(ways, names...)...)
}

// overTCP makes a variant that reads the stream of that kind from a child.
func overTCP(w way, kind func(lab.Env) string) lab.Variant {
	return lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) {
		s, err := streamOf(kind(env))
		if err != nil {
			return nil, err
		}
		r, err := dialRemote(env.Self, kind(env), 1)
		if err != nil {
			return nil, err
		}
		x := newWalker(w, r.conns[0], place{s: s})
		x.done = r.hangUp
		return x, nil
	}}
}
