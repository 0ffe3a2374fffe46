package au

import (
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// Sound whose frames say what it is may have a header all the same, which is empty: it takes nothing
// away from what the frames say, before them or when it comes again.
func TestEmptyHeaderOfSound(t *testing.T) {
	header := []byte{0x90, 'a', 'c', '-', '3'}
	frame := append([]byte{0x91, 'a', 'c', '-', '3'}, 0x0b, 0x77, 0xbe, 0xb6, 0x1e, 0x40, 0xeb, 0xf8)
	var s Splitter
	var first *Config
	for i, body := range [][]byte{header, frame, header, frame} {
		u, ok, err := s.Split(flv.TagAudio, 0, body)
		if err != nil || ok != (i%2 == 1) {
			t.Fatal(i, ok, err)
		}
		if !ok {
			continue
		}
		if first == nil {
			first = u.Config
		}
		if u.Config == nil || u.Config != first || u.Config.Rate != 48000 {
			t.Errorf("frame %d: %+v, the first %+v", i, u.Config, first)
		}
	}

	p := publishing(t)
	metadata := []byte("\x02\x00\x0aonMetaData\x08\x00\x00\x00\x01\x00\x0caudiocodecid\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09")
	for i, f := range []live.Frame{
		{Type: flv.TagScript, Payload: mem.Wrap(metadata, nil)},
		{Type: flv.TagAudio, Payload: mem.Wrap(header, nil)},
		{Type: flv.TagAudio, Payload: mem.Wrap(frame, nil)},
	} {
		if err := p.Publish(f); err != nil {
			t.Fatal(i, err)
		}
	}
	_, audio, err := Discover(t.Context(), p.Stream(), 0, nil)
	if err != nil || audio == nil || audio.Rate != 48000 {
		t.Errorf("%+v, %v", audio, err)
	}
}
