package tsmedia

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
)

// A header of ADTS cannot say which channels there are where AAC's configuration spells them
// out: each frame begins with the element that does.
func TestFramesOfAACWhoseConfigurationSpellsTheChannelsOut(t *testing.T) {
	frame := []byte{0x21, 0x10, 'a', ' ', 'f', 'r', 'a', 'm', 'e'}
	begun := append([]byte{au.AACProgram << 5}, frame...)
	for name, c := range map[string]struct {
		config   string
		frame    []byte
		channels int // that the element says; 0: there is none
	}{
		"four, with a comment":    {"118004c4040021100d4c61766335392e33372e31303056e500", frame, 4},
		"seven":                   {"118004c848002000c4400d4c61766335392e33372e31303056e500", frame, 7},
		"four, in the frames too": {"118004c4040021100d4c61766335392e33372e31303056e500", begun, 0},
		"in the frames":           {"1180", begun, 0},
		"by number":               {"1190", frame, 0},
		"cut off":                 {"118004c404", frame, 0},
		"no channel":              {"118004c0000000", frame, 0},
	} {
		config, err := au.NewAACConfig(unhex(t, c.config))
		if err != nil {
			t.Fatal(err)
		}
		m, missing, err := New(nil, config)
		if err != nil || len(missing) > 0 {
			t.Fatal(missing, err)
		}
		p, err := m.Append(&au.Unit{Codec: flv.CodecAAC, Key: true, Config: config, Parts: [][]byte{c.frame}})
		if err != nil {
			t.Fatal(err)
		}
		_, got, found := bytes.Cut(p, []byte{0xff, 0xf1})
		if !found || len(got) < adtsHeader-2 {
			t.Fatalf("%s: no frame in % x", name, p)
		}
		got = got[adtsHeader-2:]
		if c.channels > 0 {
			element, err := mpeg4audio.ParsePCEFromRawDataBlock(got)
			if err != nil || element.ChannelCount != c.channels {
				t.Errorf("%s: %+v, %v", name, element, err)
			}
			got = got[min(len(got), len(au.AACProgramElement(config.Record))):]
		}
		if !bytes.Equal(got, c.frame) {
			t.Errorf("%s: % x, want % x at its end", name, got, c.frame)
		}
	}
}

// Of a publisher the channels come in the frames: the configuration, which others have alone, has them too.
func TestConfigurationOfFramesThatSpellTheChannelsOut(t *testing.T) {
	const config = "118004c848002000c44000" // without a comment
	element := au.AACProgramElement(unhex(t, config))
	frame := func(body string) []byte { return adtsFrame(t, 48000, 0, false, body) }
	var a adts
	var got []string
	for _, body := range []string{"\x21 before the element", string(element) + "\x21 one", "\x21 two", string(element) + "\x21 three"} {
		if err := a.frames(frame(body), func(c *au.Config, block []byte, _ bool) error {
			if string(block) != body {
				t.Errorf("%q, want %q", block, body)
			}
			got = append(got, fmt.Sprintf("%x, %d channels", c.Record, c.Channels))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	spelled := config + ", 7 channels"
	if want := []string{"1180, 0 channels", spelled, spelled, spelled}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
