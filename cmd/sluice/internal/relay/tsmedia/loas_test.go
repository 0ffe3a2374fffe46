package tsmedia

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
)

// element is one of LATM behind its header, with its configuration or that of the one before.
func element(t *testing.T, mux *mpeg4audio.StreamMuxConfig, same bool, frames ...string) []byte {
	t.Helper()
	e := mpeg4audio.AudioMuxElement{MuxConfigPresent: true, UseSameStreamMux: same, StreamMuxConfig: mux}
	for _, f := range frames {
		e.Payloads = append(e.Payloads, [][][]byte{{[]byte(f)}})
	}
	p, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = (mpeg4audio.AudioSyncStream{AudioMuxElements: [][]byte{p}}).Marshal(); err != nil {
		t.Fatal(err)
	}
	return p
}

// muxOf is a configuration of so many frames in each element, and so many layers.
func muxOf(rate, frames, layers int) *mpeg4audio.StreamMuxConfig {
	program := &mpeg4audio.StreamMuxConfigProgram{}
	for range layers {
		program.Layers = append(program.Layers, &mpeg4audio.StreamMuxConfigLayer{
			AudioSpecificConfig: &mpeg4audio.AudioSpecificConfig{Type: mpeg4audio.ObjectTypeAACLC, SampleRate: rate, ChannelConfig: 2, ChannelCount: 2}, LatmBufferFullness: 255,
		})
	}
	return &mpeg4audio.StreamMuxConfig{NumSubFrames: uint(frames - 1), Programs: []*mpeg4audio.StreamMuxConfigProgram{program}}
}

// Frames of LATM come out whatever packets cut: with the configuration that elements have now and then, which
// may change, and several in an element.
func TestFramesOfLATM(t *testing.T) {
	first, second := muxOf(44100, 1, 1), muxOf(48000, 2, 1)
	var all []byte
	for _, p := range [][]byte{
		{1, 2, 3}, element(t, first, true, "before its configuration"), element(t, first, false, "a"), element(t, first, true, "\x56\xe0\x03b"),
		element(t, second, false, "c", "d"), element(t, second, true, "e", "f"),
	} {
		all = append(all, p...)
	}
	const want = "[44100 a 44100 V\xe0\x03b 48000 c 48000 d 48000 e 48000 f]"
	for size := 1; size <= len(all); size++ {
		var l loas
		var got []string
		for p := all; len(p) > 0; {
			n := min(size, len(p))
			err := l.frames(p[:n], func(c *au.Config, frame []byte, _ bool) error {
				got = append(got, fmt.Sprintf("%d %s", c.Rate, frame))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			p = p[n:]
		}
		if fmt.Sprint(got) != want {
			t.Fatalf("in pieces of %d: %q, want %q", size, fmt.Sprint(got), want)
		}
	}
}

// What cannot be carried says why, and what cannot be read too, unless that is by chance.
func TestLATMThatIsNotCarried(t *testing.T) {
	broken := append([]byte{0x56, 0xe0, 4}, 0x7f, 0xff, 0xff, 0xff)
	for name, c := range map[string]struct {
		p    []byte
		want string
	}{
		"broken":  {bytes.Repeat(broken, maxBroken), "LATM that cannot be read"},
		"a loss":  {append(bytes.Repeat(broken, maxBroken-1), element(t, muxOf(48000, 1, 1), false, "a")...), ""},
		"a start": {bytes.Repeat(element(t, muxOf(48000, 1, 1), true, "a"), 2*maxBroken), ""},
	} {
		var l loas
		err := l.frames(c.p, func(*au.Config, []byte, bool) error { return nil })
		var why leftOut
		if errors.As(err, &why) != (c.want != "") || c.want != "" && !bytes.Contains([]byte(err.Error()), []byte(c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := new(loas).configure(muxOf(48000, 1, 2)); err == nil {
		t.Error("two layers are taken")
	}
}
