package au

import (
	"slices"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// The tracks that are left out are those that are not the first of their kind, whatever
// their numbers and however they share packets.
func TestTheOtherTracks(t *testing.T) {
	const (
		aac  = "\x11\x90"
		opus = "OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00"
		vp9  = "\x01\x00\x00\x00\x00\x1f\x80\x02\x02\x02\x00\x00"
	)
	sized := func(config string) string { return "\x00\x00" + string(rune(len(config))) + config }
	for _, c := range []struct {
		name string
		tags []string // type, and payload
		want []string
	}{
		{"none", nil, nil},
		{"one", []string{"\x08\xaf\x00" + aac}, nil},
		{"one with a number", []string{"\x08\x95\x00mp4a\x05" + aac}, nil},
		{"two, the first without a number", []string{"\x08\xaf\x00" + aac, "\x08\x95\x00mp4a\x01" + aac}, []string{"audio 1"}},
		{"the higher first", []string{"\x08\x95\x00Opus\x03" + opus, "\x08\x95\x00mp4a\x02" + aac, "\x09\x96\x00vp09\x01" + vp9, "\x09\x96\x00vp09\x00" + vp9},
			[]string{"video 1", "audio 3"}},
		{"in one packet", []string{"\x08\x95\x20mp4a\x00" + sized(aac) + "Opus\x01" + sized(opus) + "mp4a\x02" + sized(aac)}, []string{"audio 1", "audio 2"}},
	} {
		p, err := live.NewHub(live.HubOptions{}).Publish("live/s", live.PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range c.tags {
			if err := p.Publish(live.Frame{Type: flv.TagType(tag[0]), Payload: mem.Wrap([]byte(tag[1:]), nil)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := Others(p.Stream()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		p.Close()
	}
}
