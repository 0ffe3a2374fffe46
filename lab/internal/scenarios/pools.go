package scenarios

import "github.com/sluice-go/sluice/lab/internal/lab"

var _ = register(130, poolsGroup)

// poolsGroup compares pools of bytes: one operation gets a buffer, writes its
// first and its last byte, and gives it back.
func poolsGroup() []lab.Scenario {
	sizes := []struct {
		name, label string
		bytes       int
		ops         int
	}{
		{"256B", "256 B", 256, 200_000},
		{"4KiB", "4 KiB", 4 << 10, 200_000},
		{"64KiB", "64 KiB", 64 << 10, 100_000},
		{"1MiB", "1 MiB", 1 << 20, 100_000},
	}
	modes := []struct {
		name, title string
		open        func(poolKind, int) lab.Runner
		mem         float64 // the most that a counted Buf may cost, to sync.Pool
	}{
		{"one", "by one goroutine", func(k poolKind, size int) lab.Runner { return k.alone(size) }, 1.4},
		{"parallel", "by a goroutine on each processor", func(k poolKind, size int) lab.Runner { return k.parallel(size) }, 1.4},
		{"across", "got in one goroutine and given back in another", func(k poolKind, size int) lab.Runner { return k.across(size) }, 1.25},
	}
	var group []lab.Scenario
	for _, size := range sizes {
		for _, mode := range modes {
			sc := lab.Scenario{
				Name:     "pools/" + size.name + "/" + mode.name,
				Title:    "pooled buffers of " + size.label + ", " + mode.title,
				Op:       "get+put",
				Metric:   lab.NsPerOp,
				Baseline: "sync.Pool",
				Ops:      size.ops,
				Targets: []lab.Target{
					{Variant: "mem", Against: "sync.Pool", AtMost: mode.mem},
					{Variant: "mem+budget", Against: "sync.Pool", AtMost: 2.5},
					{Variant: "BytePool", Against: "sync.Pool", AtMost: 1.1},
				},
			}
			if mode.name == "across" {
				sc.Targets = append(sc.Targets, lab.Target{Variant: "malloc", Against: "sync.Pool", AtMost: 1.7})
			}
			for _, k := range poolKinds {
				sc.Variants = append(sc.Variants, lab.Variant{
					Name: k.name, About: k.about,
					Open: func(lab.Env) (lab.Runner, error) { return mode.open(k, size.bytes), nil },
				})
			}
			group = append(group, sc)
		}
	}
	return group
}
