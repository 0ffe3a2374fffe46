package au

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// publishing is a publisher of a new stream.
func publishing(t *testing.T) *live.Publisher {
	t.Helper()
	hub := live.NewHub(live.HubOptions{})
	t.Cleanup(hub.Close)
	p, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// A publisher may say nothing for seconds, as ffmpeg does until it has both tracks: a viewer who waits
// for a stream gets it then too. One who does not is answered after three seconds.
func TestTracksOfAPublisherWhoBeginsLate(t *testing.T) {
	for _, c := range []struct {
		wait, begins, answer time.Duration
		found                bool
	}{
		{20 * time.Second, 10 * time.Second, 10*time.Second + discoverMore, true},
		{20 * time.Second, 30 * time.Second, 20 * time.Second, false},
		{0, 2 * time.Second, 2*time.Second + discoverMore, true},
		{0, 5 * time.Second, discoverTime, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := publishing(t)
			publish := time.AfterFunc(c.begins, func() {
				p.Publish(live.Frame{Type: flv.TagAudio, Payload: mem.Wrap([]byte{7 << 4, 1, 2, 3}, nil)})
			})
			defer publish.Stop()
			began := time.Now()
			_, audio, err := Discover(t.Context(), p.Stream(), c.wait, nil)
			if took := time.Since(began); err != nil || (audio != nil) != c.found || took != c.answer {
				t.Errorf("%v waits, the first frame comes after %v: %v, %v after %v, want %v", c.wait, c.begins, audio, err, took, c.answer)
			}
		})
	}
}

// A track that a sequence header has announced is waited for as one that the metadata says; of others
// that may come the wait is short.
func TestTracksThatAHeaderAnnounces(t *testing.T) {
	for _, c := range []struct {
		name   string
		header bool
		sound  time.Duration // when it begins, behind the first picture
		answer time.Duration
	}{
		{"announced", true, 2 * time.Second, 2 * time.Second},
		{"announced, and late", true, 5 * time.Second, discoverTime},
		{"not announced", false, 2 * time.Second, discoverMore},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := publishing(t)
			send := func(typ flv.TagType, body string) {
				if err := p.Publish(live.Frame{Type: typ, Payload: mem.Wrap([]byte(body), nil)}); err != nil {
					t.Error(err)
				}
			}
			send(flv.TagVideo, "\x17\x00\x00\x00\x00\x01\x42\x00\x1e\xff\xe1\x00\x04\x67\x01\x02\x03\x01\x00\x02\x68\x01")
			if c.header {
				send(flv.TagAudio, "\xaf\x00\x12\x10")
			}
			send(flv.TagVideo, "\x17\x01\x00\x00\x00\x00\x00\x00\x02\x65\x01")
			sound := time.AfterFunc(c.sound, func() { send(flv.TagAudio, "\xaf\x01\x21\x10\x04\x60\x8c\x1c") })
			defer sound.Stop()
			began := time.Now()
			video, audio, err := Discover(t.Context(), p.Stream(), 0, nil)
			if took := time.Since(began); err != nil || video == nil || (audio != nil) != (c.header && c.sound < discoverTime) || took != c.answer {
				t.Errorf("%s: %v, %v, %v after %v, want %v", c.name, video, audio, err, took, c.answer)
			}
		})
	}
}

// What is assumed of a track that is announced and does not come. Pictures are known by their codec where
// that is enough; what nothing announces, or announces in part, is not assumed; nor the header of a
// publisher before whose track the metadata of the one now does not name.
func TestTracksThatAreAssumed(t *testing.T) {
	const (
		avcHeader = "\x17\x00\x00\x00\x00\x01\x42\x00\x1e\xff\xe1\x00\x04\x67\x01\x02\x03\x01\x00\x02\x68\x01"
		aacHeader = "\xaf\x00\x12\x10"
	)
	picture := live.Frame{Type: flv.TagVideo, Payload: mem.Wrap([]byte("\x17\x01\x00\x00\x00\x00\x00\x00\x02\x65\x01"), nil)}
	aLaw := live.Frame{Type: flv.TagAudio, Payload: mem.Wrap([]byte("\x72\xd5\xd5"), nil)}
	says := func(list ...amf0.Property) string {
		p, err := flv.AppendScript(nil, flv.OnMetaData, amf0.ECMAArray(list))
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	id := func(name string, value any) amf0.Property { return amf0.Property{Name: name, Value: value} }
	pictures := id("videocodecid", 7.0)
	for _, c := range []struct {
		name         string
		frame        live.Frame
		script       string
		header       string // of the other kind
		assume       Assume
		video, audio string
		after        time.Duration
	}{
		{"Opus", picture, says(pictures, id("audiocodecid", float64(flv.CodecOpus))), "", AssumeSound, "avc1", "Opus of 48000 Hz with 2 channels", discoverMore},
		{"A-law", picture, says(pictures, id("audiocodecid", 7.0)), "", AssumeSound, "avc1", "alaw of 8000 Hz with 1 channels", discoverMore},
		{"Opus, without", picture, says(pictures, id("audiocodecid", float64(flv.CodecOpus))), "", nil, "avc1", "", discoverTime},
		{"AAC alone", picture, says(pictures, id("audiocodecid", 10.0)), "", AssumeSound, "avc1", "", discoverTime},
		{"AAC, header", picture, says(pictures, id("audiocodecid", 10.0)), aacHeader, AssumeSound, "avc1", "mp4a of 44100 Hz with 2 channels", discoverMore},
		{"AAC, header alone", picture, "", aacHeader, AssumeSound, "avc1", "mp4a of 44100 Hz with 2 channels", discoverMore},
		{"AAC, header of one before", picture, says(pictures), aacHeader, AssumeSound, "avc1", "", discoverTime},
		{"Opus, header of one before", picture, says(pictures, id("audiocodecid", float64(flv.CodecOpus))), aacHeader, AssumeSound, "avc1", "", discoverTime},
		{"AVC", aLaw, says(pictures, id("audiocodecid", 7.0)), "", AssumeAll, "avc1", "alaw of 8000 Hz with 1 channels", discoverMore},
		{"AVC, waited for", aLaw, says(pictures, id("audiocodecid", 7.0)), "", AssumeLast, "avc1", "alaw of 8000 Hz with 1 channels", discoverTime},
		{"Opus beside AVC", picture, says(pictures, id("audiocodecid", float64(flv.CodecOpus))), "", AssumeLast, "avc1", "Opus of 48000 Hz with 2 channels", discoverMore},
		{"AVC, sound alone is assumed", aLaw, says(pictures, id("audiocodecid", 7.0)), "", AssumeSound, "", "alaw of 8000 Hz with 1 channels", discoverTime},
		{"no number", picture, says(pictures, id("audiocodecid", math.NaN())), "", AssumeAll, "avc1", "", discoverTime},
		{"odd ids", picture, says(id("audiocodecid", "mp4a"), id("videocodecid", -1.0)), "", AssumeAll, "avc1", "", discoverTime},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := publishing(t)
			send := func(typ flv.TagType, body string) {
				if body == "" {
					return
				}
				if err := p.Publish(live.Frame{Type: typ, Payload: mem.Wrap([]byte(body), nil)}); err != nil {
					t.Error(err)
				}
			}
			send(flv.TagAudio, c.header)
			send(flv.TagScript, c.script)
			if c.frame.Type == flv.TagVideo {
				send(flv.TagVideo, avcHeader)
			}
			if err := p.Publish(live.Frame{Type: c.frame.Type, Payload: c.frame.Payload.Retain()}); err != nil {
				t.Error(err)
			}
			began := time.Now()
			video, audio, err := Discover(t.Context(), p.Stream(), 0, c.assume)
			named := func(c *Config) string {
				if c == nil {
					return ""
				}
				return c.String()
			}
			if took := time.Since(began); err != nil || named(video) != c.video || named(audio) != c.audio || took != c.after {
				t.Errorf("%s: %q, %q, %v after %v; want %q, %q after %v", c.name, named(video), named(audio), err, took, c.video, c.audio, c.after)
			}
		})
	}
}
