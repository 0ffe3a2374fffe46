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
		relayJoins("joins-500", relayWork{Viewers: 1, Joins: 500, Window: time.Second}),
		relayJoins("joins-4000", relayWork{Viewers: 1, Joins: 4000, AtOnce: true, Window: 10 * time.Second}),
		relayTLS(),
		relayCascade(),
	}
}

// relayScenario is one of live relays. Where there is no nginx nothing is promised of it.
func relayScenario(name string, variants ...lab.Variant) lab.Scenario {
	sc := describe(name, variants...)
	if !relay.HasNginx() {
		sc.Targets = slices.DeleteFunc(sc.Targets, func(t lab.Target) bool { return t.Against == "nginx" || t.Against == "nginx-cork" })
	}
	return sc
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
	return relayScenario(fmt.Sprintf("relay/%s-%d", form, viewers),
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
	return relayScenario(fmt.Sprintf("relay/adapt-%s-%d", form, viewers),
		w.variant("adapt", "sluice serve as it comes: frames are collected for as long as there is much to send", sluiceServer()),
		w.variant("merged", "sluice serve --merge-adapt=false: always for 95 ms", sluiceServer(mergeAlways)),
		w.merge0("merge0"), w.floorTag(), w.nginx("nginx", plainNginx, relay.Nginx{}))
}

func relayCrowd(viewed bool) lab.Scenario {
	w := relayWork{Form: relay.RTMP, Streams: 1000, Warm: 2500 * time.Millisecond, Window: 4 * time.Second}
	noLimits := []string{"--max-streams", "0", "--max-streams-per-address", "0"}
	name, second := "relay/publishers-1000",
		w.variant("sluice-nogop", "sluice serve --gop=false: no frames for those who join, only those of the last 3 s for those who lag",
			sluiceServer(append(noLimits, "--gop=false")...))
	if viewed {
		w.Viewers = w.Streams
		name, second = "relay/streams-1000", w.merge0("sluice-merge0", noLimits...)
	}
	return relayScenario(name,
		w.variant("sluice", "sluice serve as it comes", sluiceServer(noLimits...)),
		second,
		w.nginx("nginx", plainNginx+"; it keeps no frames", relay.Nginx{}))
}

func relayJoins(name string, w relayWork) lab.Scenario {
	byFLV := w
	w.Form, byFLV.Form = relay.RTMP, relay.FLV
	return relayScenario("relay/"+name,
		w.variant("rtmp", "sluice serve as it comes, by RTMP", sluiceServer()),
		byFLV.variant("flv", "sluice serve as it comes, by HTTP-FLV", sluiceServer()),
		w.nginx("nginx", "nginx with its RTMP module; who joins waits for the next key frame", relay.Nginx{}))
}

func relayTLS() lab.Scenario {
	w := relayWork{Form: relay.RTMP, Viewers: 200}
	secure := w
	secure.TLS = true
	return relayScenario("relay/tls-200",
		w.variant("plain", "sluice serve --merge-adapt=false", sluiceServer(mergeAlways)),
		secure.variant("tls", "the same, viewers by RTMPS", tlsServer),
		w.variant("floor-merged", "one bare send for each viewer every 95 ms, nothing else", floorServer(relayMerge, false)),
		w.variant("floor-sealed", "the same, after AES-128-GCM for each viewer: the floor of TLS", floorServer(relayMerge, true)))
}

func relayCascade() lab.Scenario {
	w := relayWork{Form: relay.RTMP, Viewers: 50}
	return relayScenario("relay/cascade-3",
		w.variant("alone", "one server, merged for 95 ms", sluiceServer(mergeAlways)),
		w.variant("cascade", "three, the last one merges for 95 ms", cascadeServer(3, mergeAlways)),
		w.variant("adapt", "three as they come", cascadeServer(3)))
}
