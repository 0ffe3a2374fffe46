package scenarios

import (
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

var _ = register(221, relayAdaptGroup)

// relayAdaptGroup asks whether collecting frames only as long as there is much to send
// keeps few viewers near to live, and what it costs.
func relayAdaptGroup() []lab.Scenario {
	return []lab.Scenario{relayAdapt(relay.FLV, 50), relayAdapt(relay.FLV, 1000)}
}

// adaptedLag is how far behind live the 99th percentile of frames may be for up to 50
// viewers.
const adaptedLag = 5e6

func relayAdapt(form string, viewers int) lab.Scenario {
	w := relayWork{form: form, viewers: viewers}
	sc := lab.Scenario{
		Name:     fmt.Sprintf("relay/adapt-%s-%d", form, viewers),
		Title:    fmt.Sprintf("live relay, %s to %d viewers by %s, how long frames are collected", relayClipName(), viewers, relayFormName(form)),
		Op:       "window",
		Metric:   perGB,
		Baseline: "floor-tag",
		Ops:      1,
		Fixed:    true,
		Named:    true,
		Variants: []lab.Variant{
			w.variant("adapt", "sluice serve as it comes: frames are collected for as long as there is much to send", adaptingServer()),
			w.variant("merged", "sluice serve --merge-adapt=false: always for 95 ms", sluiceServer(relayMerge)),
			w.variant("merge0", "sluice serve --merge 0: each frame is sent at once", sluiceServer(0)),
			w.variant("floor-tag", "one bare send for each viewer and frame, nothing else", floorServer(0)),
			w.variant("nginx", "nginx with its RTMP module, one worker"+nginxForm(form), nginxServer(relay.Nginx{})),
		},
	}
	if viewers <= 50 {
		sc.Targets = append(sc.Targets, lab.Target{Variant: "adapt", Metric: p99, AtMost: adaptedLag})
	}
	if relay.HasNginx() {
		sc.Targets = append(sc.Targets, lab.Target{Variant: "adapt", Against: "nginx", AtMost: 1})
	}
	return sc
}
