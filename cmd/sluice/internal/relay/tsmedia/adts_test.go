package tsmedia

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// adtsFrame makes a frame with its header, and a checksum if it is to have one.
func adtsFrame(t testing.TB, rate, channels int, checked bool, body string) []byte {
	t.Helper()
	p, err := mpeg4audio.ADTSPackets{{Type: mpeg4audio.ObjectTypeAACLC, SampleRate: rate, ChannelConfig: uint8(channels), AU: []byte(body)}}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if checked {
		size := len(p) + 2
		p[1] &^= 1
		p[3], p[4], p[5] = p[3]&^3|byte(size>>11), byte(size>>3), byte(size<<5)|p[5]&31
		p = append(p[:adtsHeader:adtsHeader], append([]byte{1, 2}, p[adtsHeader:]...)...)
	}
	return p
}

// Frames are found wherever packets end, with and without checksums, behind what is none,
// and with the parameters that each says.
func TestFramesOfADTSInEveryChunking(t *testing.T) {
	var stream []byte
	want := ""
	for i, c := range []struct {
		rate, channels int
		checked        bool
		body           string
	}{
		{44100, 2, false, "one"}, {44100, 2, true, "two"}, {48000, 1, false, "\xff\xf1 in a frame"}, {44100, 2, false, "3"}, {44100, 6, false, "4"},
	} {
		if i == 0 {
			stream = append(stream, "what is no frame\xff"...)
		}
		stream = append(stream, adtsFrame(t, c.rate, c.channels, c.checked, c.body)...)
		want += fmt.Sprintf("%q of %d Hz, %d channels\n", c.body, c.rate, c.channels)
	}
	for size := 1; size <= len(stream); size++ {
		var a adts
		got, configs := "", map[*au.Config]bool{}
		for at := 0; at < len(stream); at += size {
			p := bytes.Clone(stream[at:min(at+size, len(stream))])
			a.frames(p, func(c *au.Config, frame []byte, before bool) error {
				got += fmt.Sprintf("%q of %d Hz, %d channels\n", frame, c.Rate, c.Channels)
				configs[c] = true
				return nil
			})
			clear(p)
		}
		if got != want || len(configs) != 4 {
			t.Fatalf("packets of %d bytes: %d configurations,\n%s, want\n%s", size, len(configs), got, want)
		}
	}
}

// Sound that gets other parameters gets another sequence header, and its times go on.
func TestSoundThatChanges(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	var ts []byte
	config := func(asc string) *au.Config {
		c, err := au.NewAACConfig([]byte(asc))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := config("\x12\x10"), config("\x11\x88") // 44.1 kHz and stereo, 48 kHz and mono
	m, _, err := New(nil, first)
	if err != nil {
		t.Fatal(err)
	}
	const each = 50
	for i := range 2 * each {
		c := first
		if i >= each {
			c = second
		}
		p, err := m.Append(&au.Unit{Codec: flv.CodecAAC, Config: c, Time: uint32(i * 20), Parts: [][]byte{{byte(i), 1, 2}}, Key: true})
		if err != nil {
			t.Fatal(err)
		}
		ts = append(ts, p...)
	}
	hub := live.NewHub(live.HubOptions{})
	defer hub.Close()
	p, err := hub.Publish("live/s", live.PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Stream().NewReader(live.ReaderOptions{FromStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	Read(bytes.NewReader(ts), Options{Alloc: mem.Default(), MaxFrame: 1 << 20, Publish: p.Publish})
	p.Close()
	var s au.Splitter
	n, rates, begin := 0, map[int]int{}, uint32(0)
	for {
		tags, _, err := r.Next(context.Background())
		if err != nil {
			break
		}
		for u := range s.Units(tags) {
			if n == 0 {
				begin = u.Time
			}
			if i := int(u.Parts[0][0]); i != n || u.Config == nil || u.Time-begin != uint32(20*i) {
				t.Fatalf("frame %d is %d at %d: %v", n, i, u.Time-begin, u.Config)
			}
			n++
			rates[u.Config.Rate*10+u.Config.Channels]++
		}
	}
	if rates[441002] != each || rates[480001] < each-1 || len(rates) != 2 { // the last one has no end
		t.Errorf("%v", rates)
	}
}

// several makes a frame of several blocks, with checksums if it is to have them.
func several(t testing.TB, checked bool, bodies ...string) []byte {
	t.Helper()
	one := adtsFrame(t, 44100, 2, false, "x")
	p := one[:adtsHeader:adtsHeader]
	var body []byte
	for i, b := range bodies {
		if i > 0 && checked {
			p = binary.BigEndian.AppendUint16(p, uint16(len(body)))
		}
		body = append(body, b...)
		if checked {
			body = append(body, "cc"...)
		}
	}
	if checked {
		p = append(p, "cc"...)
		p[1] &^= 1
	}
	p = append(p, body...)
	size := len(p)
	p[3], p[4], p[5] = p[3]&^3|byte(size>>11), byte(size>>3), byte(size<<5)|p[5]&31
	p[6] = p[6]&^3 | byte(len(bodies)-1)
	return p
}

// A frame with several blocks and checksums says where each is; one without checksums is left out, as is
// the track when it has no others.
func TestFramesOfSeveralBlocks(t *testing.T) {
	var a adts
	var got []string
	yield := func(_ *au.Config, frame []byte, _ bool) error {
		got = append(got, string(frame))
		return nil
	}
	stream := slices.Concat(several(t, true, "one", "two", "three", "4"), adtsFrame(t, 44100, 2, true, "five"), several(t, false, "no", "no"), several(t, true, "6", "7"))
	for size := 1; size <= len(stream); size++ {
		got = nil
		for p := range slices.Chunk(stream, size) {
			if err := a.frames(p, yield); err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{"one", "two", "three", "4", "five", "6", "7"}; !slices.Equal(got, want) {
			t.Fatalf("packets of %d bytes: %q, want %q", size, got, want)
		}
	}
	broken := several(t, true, "one", "two")
	broken[adtsHeader] = 0xff
	if got = nil; a.frames(broken, yield) != nil || len(got) != 0 {
		t.Errorf("a position behind the end: %q", got)
	}
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		err = a.frames(several(t, false, "one", "two"), yield)
	}
	if why := leftOut(""); !errors.As(err, &why) || n != maxJoined {
		t.Errorf("after %d frames: %v", n, err)
	}
}

func FuzzADTS(f *testing.F) {
	f.Add(adtsFrame(f, 44100, 2, false, "one"), 5)
	f.Fuzz(func(t *testing.T, p []byte, at int) {
		at = min(max(at, 0), len(p))
		var a adts
		for _, q := range [][]byte{p[:at], p[at:]} {
			a.frames(q, func(c *au.Config, frame []byte, before bool) error {
				if len(frame) == 0 || c == nil {
					t.Fatal("an empty frame")
				}
				return nil
			})
			if len(a.part) > 1<<13 {
				t.Fatalf("%d bytes are kept", len(a.part))
			}
		}
	})
}
