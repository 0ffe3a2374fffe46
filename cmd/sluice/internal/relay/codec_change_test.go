package relay

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/flv"
)

// A viewer that comes after the sound has got another codec, and before the next key
// frame, has picture and sound: what is left of the old codec is passed over.
func TestViewersAfterACodecHasChanged(t *testing.T) {
	s := rtmpServe(t, func(c *relayConfig) { c.RTSP, c.SRT = "127.0.0.1:0", "127.0.0.1:0" })
	var begin, sound []rtmpFrame // pictures up to the first key frame; AAC, its header first
	for _, f := range rtmpClip() {
		if f.Type == flv.TagVideo && len(begin) < 2 {
			begin = append(begin, f)
		}
		if f.Type == flv.TagAudio {
			sound = append(sound, f)
		}
	}
	for i := range uint32(5) {
		begin = append(begin, rtmpFrame{Type: flv.TagAudio, Time: 20 * i, Body: "\x72\xd5\xd5\xd5\xd5"}) // A-law
	}
	p := rtmpPush(t, s, "rtmp", "live", "s")
	if err := p.send(append(begin, sound[:10]...)); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "it is there", func() bool { return rtspFrames(s, "live/s") >= 14 })
	v := rtspDial(t, s)
	v.must(200, "DESCRIBE", "live/s", "")
	v.must(200, "SETUP", "live/s/trackID=0", "", rtspTCP)
	v.must(200, "SETUP", "live/s/trackID=1", "", "Transport: RTP/AVP/TCP;unicast;interleaved=2-3")
	v.must(200, "PLAY", "live/s", "")
	k := srtReceive(srtConnect(t, s.Addresses()["srt"], "read:live/s", srtShort))
	// Some more, so that the last packets are not held back.
	if err := p.send(sound[10:20]); err != nil {
		t.Fatal(err)
	}
	const packets = 5
	for got := 0; got < packets; {
		item, err := v.r.Read()
		if err != nil {
			t.Fatalf("%d packets of sound: %v", got, err)
		}
		if item.Request == nil && item.Response == nil && item.Interleaved.Channel == 2 {
			got++
		}
		item.Release()
	}
	// A busy machine is late for some, which are left out.
	later := sound[20:]
	rtmpUntil(t, "sound by SRT", func() bool {
		if len(later) > 0 {
			if err := p.send(later[:1]); err != nil {
				t.Fatal(err)
			}
			later = later[1:]
		}
		_, audio := k.kinds()
		return len(audio) >= packets
	})
	v.must(200, "TEARDOWN", "live/s", "")
	v.ends()
	p.close()
	<-k.done
}

// Sound gets other parameters while viewers are there. A transport stream says them in its
// frames: a viewer by SRT stays. The description of RTSP does not fit any more: its viewer
// ends, and the reason is said.
func TestViewersWhenTheSoundChanges(t *testing.T) {
	r := startRelay(t, func(c *relayConfig) { c.RTMP, c.RTSP, c.SRT = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0" })
	s := r.Server
	var frames []rtmpFrame // sound alone
	at := uint32(0)
	sound := func(n int) {
		for range n {
			at += 23
			frames = append(frames, rtmpFrame{Type: flv.TagAudio, Time: at, Body: "\xaf\x01\x21\x10\x04\x60\x8c\x1c"})
		}
	}
	p := rtmpPush(t, s, "rtmp", "live", "s")
	send := func() {
		t.Helper()
		if err := p.send(frames); err != nil {
			t.Fatal(err)
		}
		frames = nil
	}
	frames = append(frames, rtmpFrame{Type: flv.TagAudio, Body: "\xaf\x00\x12\x10"}) // 44.1 kHz, stereo
	sound(20)
	send()
	rtmpUntil(t, "it is there", func() bool { return rtspFrames(s, "live/s") >= 20 })
	v := rtspDial(t, s)
	v.must(200, "DESCRIBE", "live/s", "")
	v.must(200, "SETUP", "live/s/trackID=0", "", rtspTCP)
	v.must(200, "PLAY", "live/s", "")
	k := srtReceive(srtConnect(t, s.Addresses()["srt"], "read:live/s", srtShort))
	rtmpUntil(t, "sound by SRT", func() bool {
		sound(5)
		send()
		_, audio := k.kinds()
		return len(audio) > 5
	})
	frames = append(frames, rtmpFrame{Type: flv.TagAudio, Time: at, Body: "\xaf\x00\x11\x88"}) // 48 kHz, mono
	sound(5)
	send()
	v.ends()
	r.log.line(t, "viewer ended", "protocol=rtsp", "the stream has changed: mp4a of 48000 Hz with 1 channels was mp4a of 44100 Hz with 2 channels")
	_, before := k.kinds()
	rtmpUntil(t, "more sound by SRT", func() bool {
		sound(5)
		send()
		_, audio := k.kinds()
		return len(audio) > len(before)+10
	})
	p.close()
	<-k.done
}

// rtmpKinds are the pictures and the sound of the clip.
func rtmpKinds() (pictures, sound []rtmpFrame) {
	for _, f := range rtmpClip() {
		if f.Type == flv.TagVideo {
			pictures = append(pictures, f)
		} else if f.Type == flv.TagAudio {
			sound = append(sound, f)
		}
	}
	return pictures, sound
}

// Sound that begins when viewers are there: a transport stream says it in its tables, and a viewer by SRT stays. A
// description of RTSP cannot be changed: its viewer ends, with the reason, and has both when it comes again.
func TestViewersWhenSoundBegins(t *testing.T) {
	r := startRelay(t, func(c *relayConfig) { c.RTMP, c.RTSP, c.SRT = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0" })
	s := r.Server
	pictures, sound := rtmpKinds()
	p := rtmpPush(t, s, "rtmp", "live", "s")
	if err := p.send(pictures[:50]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "it is there", func() bool { return rtspFrames(s, "live/s") >= 50 })
	v := rtspDial(t, s)
	v.must(200, "DESCRIBE", "live/s", "")
	v.must(200, "SETUP", "live/s/trackID=0", "", rtspTCP)
	v.must(200, "PLAY", "live/s", "")
	k := srtReceive(srtConnect(t, s.Addresses()["srt"], "read:live/s", srtShort))
	rtmpUntil(t, "pictures by SRT", func() bool { video, _ := k.kinds(); return len(video) > 0 })
	if err := p.send(sound); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "sound by SRT", func() bool { _, audio := k.kinds(); return len(audio) > 10 })
	v.ends()
	r.log.line(t, "viewer ended", "protocol=rtsp", "the stream has changed: a track has begun: mp4a of ")
	w := rtspDial(t, s)
	w.must(200, "DESCRIBE", "live/s", "")
	w.must(200, "SETUP", "live/s/trackID=1", "", rtspTCP)
	p.close()
	<-k.done
}

// Likewise by WHEP: with Opus its viewer ends. What has no form there, such as AAC, ends none.
func TestWHEPWhenSoundBegins(t *testing.T) {
	s := rtcServe(t, nil)
	var pictures []flvtest.Tag
	aac := flvtest.Tag{Type: flv.TagAudio}
	for _, g := range flvtest.Clip(t) {
		if g.Type == flv.TagVideo {
			pictures = append(pictures, g)
		} else if g.Type == flv.TagAudio {
			aac.Payload = g.Payload
		}
	}
	half := len(pictures) / 2
	p := s.publishing(t, "/live/s.flv")
	p.send(t, pictures[:half]...)
	s.streaming(t, "live/s")
	v := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	next := p.repeat(pictures[half:])
	more := func() bool {
		next(t)
		return len(v.got(true)) > 5
	}
	relayEventually(t, "pictures", more)
	aac.Time = pictures[half].Time
	p.send(t, aac)
	before := len(v.got(true))
	relayEventually(t, "pictures beside AAC", func() bool { return more() && len(v.got(true)) > before+5 })
	p.send(t, flvtest.Tag{Type: flv.TagAudio, Time: aac.Time, Payload: "\x90Opus" + "OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00"},
		flvtest.Tag{Type: flv.TagAudio, Time: aac.Time, Payload: "\x91Opus\xfc\xff\xfe"})
	s.log.line(t, "viewer ended", "protocol=whep", "a track has begun: Opus")
	relayEventually(t, "the end of the connection", func() bool { next(t); return v.pc.ConnectionState() == pion.PeerConnectionStateClosed })
	p.Close()
}

// Sound that a publisher's offer has and that begins late is announced to viewers by WHEP and RTSP, who
// keep their sessions when it comes.
func TestViewersWhenAnnouncedSoundBegins(t *testing.T) {
	s := rtcServe(t, func(c *relayConfig) { c.MinPublishRate, c.RTSP = 0, "127.0.0.1:0" })
	tags := flvtest.Clip(t)
	x := s.rtcPublish(t, "/live/s/whip", rtcOptions{})
	var last uint32
	silent := func() {
		x.sound = math.MaxUint32
		x.send(tags...)
		last = x.shift + tags[len(tags)-1].Time
		x.shift = last + 40
	}
	relayEventually(t, "pictures of a publisher", func() bool {
		silent()
		st, ok := s.host.Hub.Stream("live/s")
		return ok && len(st.Stats().VideoConfig) > 0
	})
	v := s.rtcWatch(t, "/live/s/whep", rtcOptions{})
	w := rtspDial(t, s.Server)
	w.must(200, "DESCRIBE", "live/s", "")
	w.must(200, "SETUP", "live/s/trackID=1", "", rtspTCP)
	w.must(200, "PLAY", "live/s", "")
	relayEventually(t, "pictures by WHEP", func() bool { silent(); return len(v.got(true)) > 0 })
	var sound []string
	relayEventually(t, "sound by WHEP", func() bool {
		x.sound = last
		sound = append(sound, x.send(tags...)...)
		last = x.shift + tags[len(tags)-1].Time
		x.shift = last + 40
		return len(v.got(false)) > 0
	})
	within(t, "WHEP, sound", v.got(false), sound)
	relayEventually(t, "sound by RTSP", func() bool {
		item, err := w.r.Read()
		if err != nil {
			t.Fatal(err)
		}
		defer item.Release()
		return item.Request == nil && item.Response == nil && item.Interleaved.Channel == 2
	})
}

// Pictures that the metadata names, and whose sequence header is more than 3 s behind the sound, are described to viewers
// by RTSP, who keep their sessions when it comes: players read the parameter sets in key frames.
func TestRTSPViewersWhenAnnouncedPicturesBegin(t *testing.T) {
	s := rtmpServe(t, withRTSP)
	script, err := flv.AppendScript(nil, flv.OnMetaData, amf0.ECMAArray{{Name: "videocodecid", Value: 7.0}, {Name: "audiocodecid", Value: 10.0}})
	if err != nil {
		t.Fatal(err)
	}
	pictures, sound := rtmpKinds()
	sound = append([]rtmpFrame{{Type: flv.TagScript, Body: string(script)}}, sound...)
	p := rtmpPush(t, s, "rtmp", "live", "s")
	if err := p.send(sound[:20]); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "it is there", func() bool { return rtspFrames(s, "live/s") >= 18 })
	v := rtspDial(t, s)
	v.must(200, "DESCRIBE", "live/s", "")
	v.must(200, "SETUP", "live/s/trackID=0", "", rtspTCP)
	v.must(200, "SETUP", "live/s/trackID=1", "", "Transport: RTP/AVP/TCP;unicast;interleaved=2-3")
	v.must(200, "PLAY", "live/s", "")
	on := func(channel uint8) []byte {
		t.Helper()
		for {
			item, err := v.r.Read()
			if err != nil {
				t.Fatal(err)
			}
			if item.Request == nil && item.Response == nil && item.Interleaved.Channel == channel {
				defer item.Release()
				return bytes.Clone(item.Interleaved.Payload.Bytes())
			}
			item.Release()
		}
	}
	on(2)
	for i := range pictures {
		pictures[i].Time += 4000
	}
	if err := p.send(pictures[:30]); err != nil {
		t.Fatal(err)
	}
	const header, sequence, key = 12, 7, 5
	for kinds := map[byte]bool{}; !kinds[sequence] || !kinds[key]; {
		p := on(0)
		kind := p[header] & 31
		if kind == 28 { // a fragment
			kind = p[header+1] & 31
		}
		kinds[kind] = true
	}
	v.must(200, "TEARDOWN", "live/s", "")
	v.ends()
	p.close()
}

// A viewer that comes when another publisher has said its codec, and before its first key frame, gets
// that codec: also when there are viewers of the one before.
func TestViewersBeforeTheFirstKeyFrameOfAnotherPublisher(t *testing.T) {
	s := rtmpServe(t, func(c *relayConfig) { c.RTSP, c.Grace = "127.0.0.1:0", time.Minute })
	first := rtmpPush(t, s, "rtmp", "live", "s")
	if err := first.send(rtmpClip()[:60]); err != nil {
		t.Fatal(err)
	}
	play := func() *rtspClient {
		t.Helper()
		v := rtspDial(t, s)
		v.must(200, "DESCRIBE", "live/s", "")
		v.must(200, "SETUP", "live/s/trackID=0", "", rtspTCP)
		v.must(200, "PLAY", "live/s", "")
		return v
	}
	before := play()
	before.packet()
	first.close()
	rtmpUntil(t, "its publisher has ended", func() bool { st, ok := s.host.Hub.Stream("live/s"); return ok && st.Publisher() == nil })
	sets := []string{"40010c01ffff0408000003009e0800000300001e959809", "4201010408000003009e0800000300001e9002840f2cb2b349265780b702020000040000030004000003002820", "4401c172860c462427"}
	var parts [][]byte
	for _, text := range sets {
		p, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	config, err := au.NewVideoConfig(flv.CodecHEVC, parts)
	if err != nil {
		t.Fatal(err)
	}
	second := rtmpPush(t, s, "rtmp", "live", "s")
	if err := second.send([]rtmpFrame{{Type: flv.TagVideo, Body: "\x90hvc1" + string(config.Record)}}); err != nil {
		t.Fatal(err)
	}
	rtmpUntil(t, "its header has come", func() (have bool) {
		st, _ := s.host.Hub.Stream("live/s")
		st.Headers(func(_ flv.TagType, p []byte) { have = have || strings.HasPrefix(string(p), "\x90hvc1") })
		return have
	})
	v := play()
	key := rtmpFrame{Type: flv.TagVideo, Time: 40, Body: "\x93hvc1\x00\x00\x00\x05\x26\x01\xaf\x10\x20"}
	if err := second.send([]rtmpFrame{key, key, key}); err != nil {
		t.Fatal(err)
	}
	const header, sequence = 12, 33
	for kinds := map[byte]bool{}; !kinds[sequence] || !kinds[19]; {
		p := v.packet()
		kinds[p[header]>>1&63] = true
	}
	before.ends()
	v.must(200, "TEARDOWN", "live/s", "")
	v.ends()
	second.close()
}
