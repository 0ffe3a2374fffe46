package scenarios

import (
	"io"
	"slices"

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
			sc.Targets = []lab.Target{{Variant: "next", Against: "peek", AtMost: 1.10}}
		}
		ways := pick(allFrames, names...)
		if size.bytes == 128 {
			ways = slices.Concat(floorWays, ways)
		}
		sc.Variants = overTCP(ways, func(env lab.Env) frameKind {
			return frameKind{env.Seed, size.bytes, size.bytes}
		})
		group = append(group, sc)
	}
	return group
}

func overTCP(ways []way, kind func(lab.Env) frameKind) []lab.Variant {
	bare := way{"conn-read", "conn.Read of 64 KiB and nothing else: the floor", newFloor}
	return walks(append([]way{bare}, ways...), func(env lab.Env) (io.Reader, *stream, func() error, error) {
		r, err := dialRemote(env.Self, kind(env), 1)
		if err != nil {
			return nil, nil, nil, err
		}
		return r.conns[0], kind(env).frames(), r.hangUp, nil
	})
}
