//go:build linux

package realtest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/sluicetest"
)

// An enhancedClip is what a relay sees of codecs that it does not know more of
// than their fourcc (Enhanced RTMP, version 2): headers and random bytes.
func enhancedClip(random *rand.Rand, video, audio string, composition bool) []tag {
	body := func(n int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(random.Uint32())
		}
		return p
	}
	videoTag := func(frame, packet byte, rest []byte) []byte {
		return append(append([]byte{enhanced | frame<<4 | packet}, video...), rest...)
	}
	audioTag := func(packet byte, rest []byte) []byte {
		return append(append([]byte{0x90 | packet}, audio...), rest...)
	}
	tags := []tag{
		{tagVideo, 0, videoTag(1, 0, body(40))},
		{tagAudio, 0, audioTag(0, body(19))},
	}
	for i := range uint32(150) {
		frame := byte(2)
		if i%50 == 0 {
			frame = 1
		}
		packet, rest := byte(3), body(500+random.IntN(5000)) // a frame without a composition time
		if composition && i%3 == 0 {
			packet, rest = 1, append([]byte{0, 0, 40}, rest...)
		}
		tags = append(tags,
			tag{tagVideo, 33 * i, videoTag(frame, packet, rest)},
			tag{tagAudio, 33 * i, audioTag(1, body(200))})
	}
	return tags
}

// Codecs that have a fourcc pass through byte by byte, and late joiners have
// their sequence headers first.
func TestEnhancedCodecsPassThrough(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(sluicetest.Seed(t), 1))
	s := serve(t, options{})
	for _, c := range []struct {
		name, video, audio string
		composition        bool
	}{
		{"hevc", "hvc1", "mp4a", true},
		{"av1", "av01", "Opus", false},
		{"vp9", "vp09", "fLaC", false},
	} {
		for _, way := range []string{"http", "rtmp"} {
			name := c.name + "-" + way
			tags := enhancedClip(random, c.video, c.audio, c.composition)
			var to sender
			if way == "http" {
				to = publishHTTP(t, "POST", "http://"+s.HTTP+"/live/"+name+".flv")
			} else {
				pub, err := publishRTMP(dial(t, s.RTMP, false), "live", name)
				if err != nil {
					t.Fatal(err)
				}
				to = pub
			}
			var want []digest
			send := func(tags []tag) {
				for _, g := range tags {
					if err := to.send(g); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					if g.media() {
						want = append(want, g.digest())
					}
				}
			}
			send(tags[:150])
			s.awaitLive(t, "live/"+name)
			viewers := []*viewer{s.view(t, "flv", name, ""), s.view(t, "rtmp", name, ""), s.view(t, "ws", name, "")}
			send(tags[150:])
			for _, v := range viewers {
				v.awaitLast(t, want[len(want)-1])
				checkRun(t, name+" "+v.name, v.media(), want)
				if first := v.media()[0]; first.Type != tagVideo || !hasConfigs(v.tags(), tags[:2]) {
					t.Errorf("%s %s begins with %+v", name, v.name, v.tags()[:min(4, len(v.tags()))])
				}
			}
			if info := s.stream(t, "live/"+name); info.Video.Codec != c.video || info.Audio.Codec != c.audio {
				t.Errorf("%s: the API says %+v and %+v", name, info.Video, info.Audio)
			}
		}
	}
}

// hasConfigs tells whether the first tags have the same bytes as the sequence
// headers, at whatever time.
func hasConfigs(got []digest, configs []tag) bool {
	found := 0
	for _, d := range got[:min(4, len(got))] {
		for _, g := range configs {
			if want := g.digest(); d.Type == want.Type && d.Sum == want.Sum && d.Size == want.Size {
				found++
			}
		}
	}
	return found == len(configs)
}

// Times beyond 24 bits, which RTMP writes in another place and FLV in another
// order, come out as they went in.
func TestTimesBeyond24Bits(t *testing.T) {
	t.Parallel()
	for _, begin := range []uint32{1<<24 - 1500, 1<<31 - 1500} {
		s := serve(t, options{})
		pub, err := publishRTMP(dial(t, s.RTMP, false), "live", "s")
		if err != nil {
			t.Fatal(err)
		}
		f := feedTo(t, pub, pace{begin: begin})
		s.awaitLive(t, "live/s")
		viewers := []*viewer{s.view(t, "flv", "s", ""), s.view(t, "rtmp", "s", ""), s.view(t, "ws", "s", "")}
		for _, v := range viewers {
			v.awaitMedia(t, 200)
		}
		checkViewers(t, f, viewers)
	}
}

// A publisher that sends as fast as it can takes nothing from the viewers of
// another one, and its own viewers get all the same.
func TestBurstStarvesNobody(t *testing.T) {
	s := serve(t, options{})
	calm := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/calm.flv")
	f := feedTo(t, calm, pace{})
	s.awaitLive(t, "live/calm")
	var viewers []*viewer
	for _, way := range []string{"flv", "rtmp", "ws", "flv", "rtmp", "ws"} {
		viewers = append(viewers, s.view(t, way, "calm", ""))
	}
	for _, v := range viewers {
		v.awaitMedia(t, 30)
	}
	const rounds = 40
	fast, err := publishRTMP(dial(t, s.RTMP, false), "live", "fast")
	if err != nil {
		t.Fatal(err)
	}
	// The first round brings the viewers in, before the flood.
	lead := feedTo(t, fast, pace{rounds: 1, unpaced: true})
	receive(t, lengthened(20*time.Second), "end of the first round", lead.done)
	var crowd []*viewer
	for i := range 20 {
		crowd = append(crowd, s.view(t, []string{"flv", "rtmp"}[i%2], "fast", ""))
	}
	for _, v := range crowd {
		v.awaitLast(t, lead.published()[clipVideo+clipAudio-1])
	}
	flood := feedTo(t, fast, pace{begin: clipMS, rounds: rounds, unpaced: true})
	worst, noise := 0, watchNoise(t)
	eventually(t, lengthened(time.Minute), func() string {
		sent := f.published()
		now := sent[len(sent)-1].Time
		for _, v := range viewers {
			if last, ok := v.last(); ok {
				worst = max(worst, int(now)-int(last.Time))
			}
		}
		select {
		case <-flood.done:
			return ""
		default:
			return "the flood is not over"
		}
	})
	if flood.err != nil {
		t.Fatal(flood.err)
	}
	t.Logf("while %d packets went through another stream, the viewers of the calm one were at most %d ms behind", len(flood.published()), worst)
	// What this process was late, the viewers and their publisher were, too.
	if late := time.Duration(noise.Load()).Milliseconds(); measured() && worst > 1000+2*int(late) {
		t.Errorf("the viewers of the calm stream were %d ms behind, this process %d ms late", worst, late)
	}
	checkViewers(t, f, viewers)

	all := append(lead.published(), flood.published()...)
	var least, most int
	for i, v := range crowd {
		v.awaitLast(t, all[len(all)-1])
		n := len(v.media())
		if i == 0 {
			least = n
		}
		least, most = min(least, n), max(most, n)
	}
	t.Logf("of %d packets of the fast stream its viewers got %d to %d", len(all), least, most)
	// They had joined when the flood began, and it waits for them.
	if float64(most) > 1.2*float64(least) || least < len(flood.published())*9/10 {
		t.Error("of the fast stream some viewers got much less than there was")
	}
	if info := s.stream(t, "live/fast"); info.Evicted != 0 || info.Viewers != len(crowd) {
		t.Errorf("the API says %+v", info)
	}
}
