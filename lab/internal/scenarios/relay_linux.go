package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

const (
	// relayMerge is how long the server and the merging floor collect what they send
	// at once: the server's default.
	relayMerge = 95 * time.Millisecond
	// nginxCork is how many messages nginx collects in the setting of it that is
	// the better one.
	nginxCork = 8
)

var _ = register(220, relayGroup)

func relayGroup() []lab.Scenario {
	return []lab.Scenario{
		relayLive(relay.RTMP, 200),
		relayLive(relay.FLV, 200),
		relayLive(relay.RTMP, 1000),
		relayLive(relay.FLV, 1000),
		relayAdapt(relay.FLV, 50),
		relayAdapt(relay.FLV, 1000),
		relayCrowd(false),
		relayCrowd(true),
		relayJoins("joins-500", "500 viewers that join within a second",
			relayWork{Viewers: 1, Joins: 500, Window: time.Second}, lab.Target{Variant: "rtmp", AtMost: 3e6}),
		relayJoins("joins-4000", "4,000 viewers that join at once",
			relayWork{Viewers: 1, Joins: 4000, AtOnce: true, Window: 10 * time.Second}, lab.Target{Variant: "rtmp", Metric: joinsServed, AtLeast: 1}),
		relayTLS(),
		relayCascade(),
	}
}

// relayScenario is one of live relays. Where there is no nginx nothing is promised of it.
func relayScenario(name, title, metric, baseline string, targets []lab.Target, variants ...lab.Variant) lab.Scenario {
	if !relay.HasNginx() {
		targets = slices.DeleteFunc(targets, func(t lab.Target) bool { return t.Against == "nginx" || t.Against == "nginx-cork" })
	}
	return lab.Scenario{
		Name: "relay/" + name, Title: "live relay, " + title, Op: "window", Metric: metric, Baseline: baseline, Ops: 1,
		Fixed: true, Named: true, Variants: variants, Targets: targets,
	}
}

func relayClipName() string {
	if _, err := relay.FFmpeg(); err != nil {
		return "640x360 at 0.9 Mbit/s, as no ffmpeg is here to make the real clip"
	}
	return "720p30 at 2 Mbit/s"
}

func (w relayWork) title() string {
	form := map[string]string{relay.RTMP: "RTMP", relay.FLV: "HTTP-FLV"}[w.Form]
	return fmt.Sprintf("%s to %d viewers by %s", relayClipName(), w.Viewers, form)
}

func (w relayWork) floorTag() lab.Variant {
	return w.variant("floor-tag", "one bare send for each viewer and frame, nothing else", floorServer(0, false))
}

func (w relayWork) merge0(name string, flags ...string) lab.Variant {
	return w.variant(name, "sluice serve --merge 0: each frame is sent at once", sluiceServer(append(flags, "--merge", "0s")...))
}

func (w relayWork) nginx(name, about string, settings relay.Nginx) lab.Variant {
	if w.Form == relay.FLV {
		about += "; its viewers come by RTMP, as it has no HTTP-FLV"
	}
	return w.variant(name, about, nginxServer(settings))
}

const plainNginx = "nginx with its RTMP module, one worker"

func relayLive(form string, viewers int) lab.Scenario {
	w := relayWork{Form: form, Viewers: viewers}
	// To one bare send for each merge time, to one for each frame, and that to nginx.
	merged, single, now := 1.3, 1.25, 0.95
	if viewers >= 1000 {
		merged, single, now = 1.25, 1.1, 0.9
	}
	targets := []lab.Target{
		{Variant: "sluice", Against: "floor-merged", AtMost: merged},
		{Variant: "sluice-merge0", Against: "floor-tag", AtMost: single},
		{Variant: "sluice", Metric: framesLost, AtMost: 0},
	}
	if viewers >= 1000 {
		targets = append(targets, lab.Target{Variant: "sluice", Metric: residentAll, AtMost: 40e6})
	}
	for _, peer := range []string{"nginx", "nginx-cork"} {
		targets = append(targets,
			lab.Target{Variant: "sluice", Against: peer, AtMost: 0.35},
			lab.Target{Variant: "sluice-merge0", Against: peer, AtMost: now},
		)
	}
	return relayScenario(fmt.Sprintf("%s-%d", form, viewers), w.title()+", the server's processor time", perGB, "floor-merged", targets,
		w.variant("sluice", "sluice serve --merge-adapt=false: sends are merged for 95 ms", sluiceServer(mergeAlways)),
		w.merge0("sluice-merge0"),
		w.variant("floor-merged", "one bare send for each viewer every 95 ms, nothing else: the floor", floorServer(relayMerge, false)),
		w.floorTag(),
		w.nginx("nginx", plainNginx, relay.Nginx{}),
		w.nginx("nginx-cork", fmt.Sprint("the same, out_cork ", nginxCork), relay.Nginx{Cork: nginxCork}))
}

// relayAdapt asks whether collecting frames only as long as there is much to send
// keeps few viewers near to live, and what it costs.
func relayAdapt(form string, viewers int) lab.Scenario {
	w := relayWork{Form: form, Viewers: viewers}
	var targets []lab.Target
	if viewers <= 50 {
		targets = append(targets, lab.Target{Variant: "adapt", Metric: p99, AtMost: 5e6})
	}
	targets = append(targets, lab.Target{Variant: "adapt", Against: "nginx", AtMost: 1})
	return relayScenario(fmt.Sprintf("adapt-%s-%d", form, viewers), w.title()+", how long frames are collected", perGB, "floor-tag", targets,
		w.variant("adapt", "sluice serve as it comes: frames are collected for as long as there is much to send", sluiceServer()),
		w.variant("merged", "sluice serve --merge-adapt=false: always for 95 ms", sluiceServer(mergeAlways)),
		w.merge0("merge0"), w.floorTag(), w.nginx("nginx", plainNginx, relay.Nginx{}))
}

func relayCrowd(viewed bool) lab.Scenario {
	w := relayWork{Form: relay.RTMP, Streams: 1000, Warm: 2500 * time.Millisecond, Window: 4 * time.Second}
	noLimits := []string{"--max-streams", "0", "--max-streams-per-address", "0"}
	name, watched, promise := "publishers-1000", "that nothing watches", lab.Target{Variant: "sluice", Metric: growthPerShow, AtMost: 100e3}
	second := w.variant("sluice-nogop", "sluice serve --gop=false: no frames for those who join, only those of the last 3 s for those who lag",
		sluiceServer(append(noLimits, "--gop=false")...))
	if viewed {
		w.Viewers = w.Streams
		name, watched, promise = "streams-1000", "with one viewer each, by RTMP", lab.Target{Variant: "sluice", Metric: framesLost, AtMost: 0}
		second = w.merge0("sluice-merge0", noLimits...)
	}
	return relayScenario(name, "1,000 streams of 30 frames of 1,000 bytes a second "+watched+", the server's processor time", cpuPerFrame, "sluice",
		[]lab.Target{promise, {Variant: "sluice", Against: "nginx", AtMost: 0.95}},
		w.variant("sluice", "sluice serve as it comes", sluiceServer(noLimits...)),
		second,
		w.nginx("nginx", plainNginx+"; it keeps no frames", relay.Nginx{}))
}

func relayJoins(name, title string, w relayWork, target lab.Target) lab.Scenario {
	byFLV := w
	w.Form, byFLV.Form = relay.RTMP, relay.FLV
	return relayScenario(name, relayClipName()+", "+title+", until they have a key frame", toKeyP99, "flv", []lab.Target{target},
		w.variant("rtmp", "sluice serve as it comes, by RTMP", sluiceServer()),
		byFLV.variant("flv", "sluice serve as it comes, by HTTP-FLV", sluiceServer()),
		w.nginx("nginx", "nginx with its RTMP module; who joins waits for the next key frame", relay.Nginx{}))
}

func relayTLS() lab.Scenario {
	w := relayWork{Form: relay.RTMP, Viewers: 200}
	secure := w
	secure.TLS = true
	return relayScenario("tls-200", w.title()+", merged for 95 ms, the server's processor time", perGB, "plain",
		[]lab.Target{{Variant: "tls", Against: "plain", AtMost: 1.3}},
		w.variant("plain", "sluice serve --merge-adapt=false", sluiceServer(mergeAlways)),
		secure.variant("tls", "the same, viewers by RTMPS", tlsServer),
		w.variant("floor-merged", "one bare send for each viewer every 95 ms, nothing else", floorServer(relayMerge, false)),
		w.variant("floor-sealed", "the same, after AES-128-GCM for each viewer: the floor of TLS", floorServer(relayMerge, true)))
}

func relayCascade() lab.Scenario {
	w := relayWork{Form: relay.RTMP, Viewers: 50}
	return relayScenario("cascade-3", w.title()+" of the last of three servers on one processor, each pulling from the one before", p99, "alone",
		[]lab.Target{
			{Variant: "cascade", Metric: p50, AtMost: 60e6}, {Variant: "cascade", AtMost: 110e6}, {Variant: "cascade", Metric: framesLost, AtMost: 0},
		},
		w.variant("alone", "one server, merged for 95 ms", sluiceServer(mergeAlways)),
		w.variant("cascade", "three, the last one merges for 95 ms", cascadeServer(3, mergeAlways)),
		w.variant("adapt", "three as they come", cascadeServer(3)))
}
