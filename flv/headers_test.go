package flv_test

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/sys"
)

func TestFileHeader(t *testing.T) {
	for wire, want := range map[string]flv.Header{
		"FLV\x01\x05\x00\x00\x00\x09": {Audio: true, Video: true},
		"FLV\x01\x04\x00\x00\x00\x09": {Audio: true},
		"FLV\x01\x01\x00\x00\x00\x09": {Video: true},
		"FLV\x01\x00\x00\x00\x00\x09": {},
	} {
		h, n, err := flv.ParseHeader([]byte(wire + "more"))
		if err != nil || h != want || n != flv.HeaderLen {
			t.Errorf("%q: %+v, %d, %v", wire, h, n, err)
		}
		if p := want.Append([]byte("x")); string(p) != "x"+wire {
			t.Errorf("%+v: %q", want, p)
		}
		for cut := range len(wire) {
			if _, _, err := flv.ParseHeader([]byte(wire[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes: %v", cut, err)
			}
		}
	}
	if h, n, err := flv.ParseHeader([]byte("FLV\x02\xff\x00\x00\x10\x00")); err != nil || n != 4096 || !h.Audio || !h.Video {
		t.Errorf("a longer header: %+v, %d, %v", h, n, err)
	}
	for _, wire := range []string{"FLW\x01\x05\x00\x00\x00\x09", "FLV\x01\x05\x00\x00\x00\x08", "FLV\x01\x05\xff\xff\xff\xff", "RIFF12345"} {
		if _, _, err := flv.ParseHeader([]byte(wire)); !errors.Is(err, flv.ErrSyntax) {
			t.Errorf("%q: %v", wire, err)
		}
	}
}

func TestTagHeader(t *testing.T) {
	for _, c := range tagWires {
		h, err := flv.ParseTagHeader([]byte(c.wire + "more"))
		if err != nil || h != c.header {
			t.Errorf("%s: %+v, %v", c.name, h, err)
		}
		if p := c.header.Append([]byte("x")); string(p) != "x"+c.wire {
			t.Errorf("%s: appended %q", c.name, p)
		}
		for cut := range len(c.wire) {
			if _, err := flv.ParseTagHeader([]byte(c.wire[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %d bytes: %v", c.name, cut, err)
			}
		}
	}
	for _, first := range []byte{0x48, 0x89, 0xff} {
		if _, err := flv.ParseTagHeader([]byte{first, 10: 0}); !errors.Is(err, flv.ErrSyntax) {
			t.Errorf("%#x: %v", first, err)
		}
	}
}

func TestVideoHeader(t *testing.T) {
	for _, c := range videoWires {
		h, err := flv.ParseVideo([]byte(c.wire + "more"))
		if err != nil || !reflect.DeepEqual(h, c.header) {
			t.Errorf("%s: %+v, %v, want %+v", c.name, h, err, c.header)
		}
		if h.Len != len(c.wire) {
			t.Errorf("%s: %d bytes", c.name, h.Len)
		}
		if p := c.header.Append([]byte("x")); string(p) != "x"+c.wire {
			t.Errorf("%s: appended %q, want %q", c.name, p, c.wire)
		}
		for what, is := range map[string]bool{"key": h.Key(), "config": h.Config(), "metadata": h.Metadata()} {
			if is != (what == c.is) {
				t.Errorf("%s: %s: %t", c.name, what, is)
			}
		}
		for cut := range len(c.wire) {
			if _, err := flv.ParseVideo([]byte(c.wire[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %d bytes: %v", c.name, cut, err)
			}
		}
	}
	for _, wire := range videoWrongs {
		if _, err := flv.ParseVideo([]byte(wire)); !errors.Is(err, flv.ErrSyntax) {
			t.Errorf("%q: %v", wire, err)
		}
	}
}

func TestAudioHeader(t *testing.T) {
	for _, c := range audioWires {
		h, err := flv.ParseAudio([]byte(c.wire + "more"))
		if err != nil || !reflect.DeepEqual(h, c.header) {
			t.Errorf("%s: %+v, %v, want %+v", c.name, h, err, c.header)
		}
		if h.Len != len(c.wire) || h.Config() != c.config {
			t.Errorf("%s: %d bytes, configuration: %t", c.name, h.Len, h.Config())
		}
		if p := c.header.Append([]byte("x")); string(p) != "x"+c.wire {
			t.Errorf("%s: appended %q, want %q", c.name, p, c.wire)
		}
		for cut := range len(c.wire) {
			if _, err := flv.ParseAudio([]byte(c.wire[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %d bytes: %v", c.name, cut, err)
			}
		}
	}
	if _, err := flv.ParseAudio([]byte("\x95\x15mp4a\x00\x00\x00\x00")); !errors.Is(err, flv.ErrSyntax) {
		t.Errorf("tracks in tracks: %v", err)
	}
}

func TestModifiers(t *testing.T) {
	for _, c := range videoWires {
		h, _ := flv.ParseVideo([]byte(c.wire))
		want := map[string]uint32{"nanoseconds": 999_999, "two modifiers": 5}[c.name]
		if got := h.NanoOffset(); got != want {
			t.Errorf("%s: %d ns", c.name, got)
		}
	}
	// A size above 255 is written in two more bytes.
	wire := "\x97\xff\x01\x2b" + strings.Repeat("m", 300) + "\x11hvc1\x00\x00\x00"
	h, err := flv.ParseVideo([]byte(wire))
	if err != nil || h.Len != len(wire) || h.NanoOffset() != 0 || string(h.Append(nil)) != wire {
		t.Errorf("%d bytes, %v", h.Len, err)
	}
}

func TestBody(t *testing.T) {
	for wire, want := range map[string]string{
		"\x17\x01\x00\x00\x00body":                         "body",
		"\x12body":                                         "body",
		"\x91hvc1\x00\x00\x00body":                         "body",
		"\x96\x01avc1\x07\x00\x00\x05body":                 "body",
		"\x96\x10hvc1\x00\x00\x00\x04body\x01\x00\x00":     "body",
		"\x96\x11hvc1\x00\x00\x00\x07\x00\x00\x00body\x01": "body",
		"\x96\x11hvc1\x00\x00\x00\x02\x00\x00\x00body":     "", // a size that is wrong
		"\x96\x13hvc1\x00\xff\xff\xffbody":                 "body",
	} {
		h, err := flv.ParseVideo([]byte(wire))
		if got := h.Body([]byte(wire)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", wire, got, err)
		}
	}
	p := []byte("\x95\x11mp4a\x02\x00\x00\x03onetwo")
	h, err := flv.ParseAudio(p)
	if got := h.Body(p); err != nil || string(got) != "one" || cap(got) != 3 {
		t.Errorf("%q, %v", got, err)
	}
	if got := h.Body(p[:4]); len(got) != 0 {
		t.Errorf("of less than the header: %q", got)
	}
}

func TestCodecsWithoutANumberAreEnhanced(t *testing.T) {
	v := flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecVP9, Packet: flv.PacketCodedFrames}
	if got := string(v.Append(nil)); got != "\x91vp09" {
		t.Errorf("%q", got)
	}
	a := flv.AudioHeader{Codec: flv.CodecOpus, Packet: flv.AudioCodedFrames}
	if got := string(a.Append(nil)); got != "\x91Opus" {
		t.Errorf("%q", got)
	}
}

func TestNames(t *testing.T) {
	for c, want := range map[flv.FourCC]string{
		flv.CodecAVC: "avc1", flv.CodecHEVC: "hvc1", flv.CodecAV1: "av01", flv.CodecVP9: "vp09", flv.CodecAAC: "mp4a",
		flv.CodecMP3: ".mp3", flv.CodecOpus: "Opus", 12: "codec 12", 0x01020304: "0x01020304",
	} {
		if c.String() != want {
			t.Errorf("%s, want %s", c, want)
		}
	}
	if p, err := json.Marshal([]any{flv.CodecAAC, flv.TagVideo, flv.TagType(7)}); err != nil || string(p) != `["mp4a","video","type 7"]` {
		t.Errorf("%s, %v", p, err)
	}
	for r, want := range map[flv.SoundRate]int{flv.SoundRate5k: 5512, flv.SoundRate11k: 11025, flv.SoundRate22k: 22050, flv.SoundRate44k: 44100} {
		if r.Hz() != want {
			t.Errorf("%d: %d Hz", r, r.Hz())
		}
	}
}

func TestWhatDoesNotFitPanics(t *testing.T) {
	avc := flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecAVC, Packet: flv.PacketCodedFrames}
	with := func(change func(h *flv.VideoHeader)) func() {
		h := avc
		change(&h)
		return func() { h.Append(nil) }
	}
	for name, f := range map[string]func(){
		"tag of 16 MiB":     func() { flv.TagHeader{Type: flv.TagVideo, Size: flv.MaxPayload + 1}.Append(nil) },
		"tag of -1 bytes":   func() { flv.TagHeader{Type: flv.TagVideo, Size: -1}.Append(nil) },
		"tag type":          func() { flv.TagHeader{Type: 32}.Append(nil) },
		"stream":            func() { flv.TagHeader{Type: flv.TagVideo, StreamID: 1 << 24}.Append(nil) },
		"frame type":        with(func(h *flv.VideoHeader) { h.Frame = 8 }),
		"late composition":  with(func(h *flv.VideoHeader) { h.CompositionTime = 1 << 23 }),
		"early composition": with(func(h *flv.VideoHeader) { h.CompositionTime = -1<<23 - 1 }),
		"packet type":       with(func(h *flv.VideoHeader) { h.Enhanced, h.Packet = true, 16 }),
		"modifier's type":   with(func(h *flv.VideoHeader) { h.Enhanced, h.Packet = true, 7 }),
		"cut modifiers":     with(func(h *flv.VideoHeader) { h.Enhanced, h.ModEx = true, []byte{0, 0} }),
		"more after them":   with(func(h *flv.VideoHeader) { h.Enhanced, h.ModEx = true, []byte{0, 0, 0, 0} }),
		"track size":        with(func(h *flv.VideoHeader) { h.Enhanced, h.Tracks, h.TrackSize = true, flv.TrackMany, 1<<24 }),
		"tracks":            with(func(h *flv.VideoHeader) { h.Enhanced, h.Tracks = true, 4 }),
		"sound rate":        func() { flv.AudioHeader{Codec: flv.CodecMP3, Rate: 4}.Append(nil) },
	} {
		func() {
			defer func() {
				s, _ := recover().(string)
				if !strings.HasPrefix(s, "flv: ") {
					t.Errorf("%s: panicked with %q", name, s)
				}
			}()
			f()
		}()
	}
}

func TestHeadersAllocateNothing(t *testing.T) {
	room := make([]byte, 0, 512)
	wires := make([][]byte, len(videoWires))
	for i, c := range videoWires {
		wires[i] = []byte(c.wire)
	}
	allocs := testing.AllocsPerRun(100, func() {
		for _, p := range wires {
			h, err := flv.ParseVideo(p)
			if err != nil || !h.Enhanced && h.Metadata() {
				t.Fatal(err)
			}
			room = h.Append(room[:0])
		}
		h, err := flv.ParseTagHeader([]byte(tagWires[0].wire))
		if err != nil {
			t.Fatal(err)
		}
		room = h.Append(room[:0])
		if _, err := flv.ParseAudio(wires[0]); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 && !sys.Race {
		t.Errorf("%v allocations", allocs)
	}
}
