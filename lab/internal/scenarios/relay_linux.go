package scenarios

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

// The figures of the relay scenarios. The server's are of its process alone.
const (
	perGB         = "cpu-s/GB"       // the server's processor time for 1,000,000,000 bytes delivered
	framesLost    = "lost"           // that a viewer did not get, of all that were published after its first
	residentAll   = "rss-B"          // of the server at the end of the window
	toKeyP50      = "to-key-p50-ns"  // from a viewer's first byte to the end of its first key frame
	toKeyP99      = "to-key-p99-ns"  // the same
	joinsServed   = "served"         // part of the viewers who came in the window that got a key frame
	loadBusy      = "viewers-busy"   // part of the window in which the viewers' processor worked: near 1, it was the limit
	viewersClosed = "viewers-closed" // by the server
)

// relayMerge is how long the server and the merging floor collect what they send
// at once: the server's default.
const relayMerge = 95 * time.Millisecond

var _ = register(220, relayGroup)

// relayGroup has relays send one live stream to many viewers on another
// processor.
func relayGroup() []lab.Scenario {
	return []lab.Scenario{
		relayLive(relay.RTMP, 200),
		relayLive(relay.FLV, 200),
		relayLive(relay.RTMP, 1000),
		relayLive(relay.FLV, 1000),
		relayAdapt(relay.FLV, 50),
		relayAdapt(relay.FLV, 1000),
	}
}

// relayClipName says what is published.
func relayClipName() string {
	if _, err := relay.FFmpeg(); err != nil {
		return "640x360 at 0.9 Mbit/s, as no ffmpeg is here to make the real clip"
	}
	return "720p30 at 2 Mbit/s"
}

func relayFormName(form string) string {
	if form == relay.FLV {
		return "HTTP-FLV"
	}
	return "RTMP"
}

// scenario is one of live relays.
func (w relayWork) scenario(name, what, baseline string, variants []lab.Variant, targets []lab.Target) lab.Scenario {
	return lab.Scenario{
		Name:     fmt.Sprintf("relay/%s-%d", name, w.viewers),
		Title:    fmt.Sprintf("live relay, %s to %d viewers by %s, %s", relayClipName(), w.viewers, relayFormName(w.form), what),
		Op:       "window",
		Metric:   perGB,
		Baseline: baseline,
		Ops:      1,
		Fixed:    true,
		Named:    true,
		Variants: variants,
		Targets:  targets,
	}
}

// floorTag and nginx are variants of all.
func (w relayWork) floorTag() lab.Variant {
	return w.variant("floor-tag", "one bare send for each viewer and frame, nothing else", floorServer(0))
}

func (w relayWork) nginx() lab.Variant {
	return w.variant("nginx", "nginx with its RTMP module, one worker"+nginxForm(w.form), nginxServer(relay.Nginx{}))
}

func relayLive(form string, viewers int) lab.Scenario {
	w := relayWork{form: form, viewers: viewers}
	targets := []lab.Target{
		{Variant: "sluice", Against: "floor-merged", AtMost: 1.35},
		{Variant: "sluice-merge0", Against: "floor-tag", AtMost: 1.25},
		{Variant: "sluice", Metric: framesLost, AtMost: 0},
	}
	now := 0.95
	if viewers >= 1000 {
		now = 0.75
		targets = append(targets, lab.Target{Variant: "sluice", Metric: residentAll, AtMost: 40e6})
	}
	if relay.HasNginx() { // where there is no peer nothing is promised of it
		for _, peer := range []string{"nginx", "nginx-cork"} {
			targets = append(targets,
				lab.Target{Variant: "sluice", Against: peer, AtMost: 0.35},
				lab.Target{Variant: "sluice-merge0", Against: peer, AtMost: now},
			)
		}
	}
	return w.scenario(form, "the server's processor time", "floor-merged", []lab.Variant{
		w.variant("sluice", "sluice serve --merge-adapt=false: sends are merged for 95 ms", sluiceServer(relayMerge)),
		w.variant("sluice-merge0", "sluice serve --merge 0: each frame is sent at once", sluiceServer(0)),
		w.variant("floor-merged", "one bare send for each viewer every 95 ms, nothing else: the floor", floorServer(relayMerge)),
		w.floorTag(), w.nginx(),
		w.variant("nginx-cork", "the same, out_cork "+fmt.Sprint(nginxCork)+nginxForm(form), nginxServer(relay.Nginx{Cork: nginxCork})),
	}, targets)
}

// adaptedLag is how far behind live the 99th percentile of frames may be for up to 50
// viewers.
const adaptedLag = 5e6

// relayAdapt asks whether collecting frames only as long as there is much to send
// keeps few viewers near to live, and what it costs.
func relayAdapt(form string, viewers int) lab.Scenario {
	w := relayWork{form: form, viewers: viewers}
	var targets []lab.Target
	if viewers <= 50 {
		targets = append(targets, lab.Target{Variant: "adapt", Metric: p99, AtMost: adaptedLag})
	}
	if relay.HasNginx() {
		targets = append(targets, lab.Target{Variant: "adapt", Against: "nginx", AtMost: 1})
	}
	return w.scenario("adapt-"+form, "how long frames are collected", "floor-tag", []lab.Variant{
		w.variant("adapt", "sluice serve as it comes: frames are collected for as long as there is much to send", adaptingServer()),
		w.variant("merged", "sluice serve --merge-adapt=false: always for 95 ms", sluiceServer(relayMerge)),
		w.variant("merge0", "sluice serve --merge 0: each frame is sent at once", sluiceServer(0)),
		w.floorTag(), w.nginx(),
	}, targets)
}

// nginxCork is how many messages nginx collects in the setting of it that is
// the better one.
const nginxCork = 8

// nginxForm says how nginx's viewers take the stream, where the others' do it in
// another way.
func nginxForm(form string) string {
	if form == relay.RTMP {
		return ""
	}
	return "; its viewers come by RTMP, as it has no HTTP-FLV"
}
