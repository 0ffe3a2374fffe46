package au

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
)

// Where the newest group of pictures begins with sound of another codec, the newest counts, however long the group is:
// with the old one a viewer who came was closed again with the first frame of the new, up to the next key frame.
func TestSoundThatHasChangedInALongGroup(t *testing.T) {
	const (
		avcHeader = "\x17\x00\x00\x00\x00\x01\x42\x00\x1e\xff\xe1\x00\x04\x67\x01\x02\x03\x01\x00\x02\x68\x01"
		aacHeader = "\xaf\x00\x12\x10"
		aac       = "\xaf\x01\x21\x10\x04\x60\x8c\x1c"
		opus      = "\x91Opus\xf8\xff"
	)
	const key = "\x17\x01\x00\x00\x00\x00\x00\x00\x02\x65\x01"
	large := "\x27\x01\x00\x00\x00\x00\x04\x00\x00\x41" + strings.Repeat("x", 1<<18-1) // more than is read at once
	mp3 := "\x2f\xff\xfb\x90\x00" + strings.Repeat("\x00", 413)
	for name, c := range map[string]struct {
		frames []string
		want   flv.FourCC
	}{
		"to a codec without headers": {[]string{aacHeader, avcHeader, key, aac, large, aac, large, mp3}, flv.CodecMP3},
		"to one with headers":        {[]string{avcHeader, key, mp3, large, mp3, aacHeader, aac}, flv.CodecAAC},
		"to none":                    {[]string{aacHeader, avcHeader, key, aac, large, aac}, flv.CodecAAC},
		"to Opus without a header":   {[]string{aacHeader, avcHeader, key, aac, large, aac, opus}, flv.CodecOpus},
		"of another track":           {[]string{avcHeader, key, mp3, "\x95\x00mp4a\x01\x12\x10", "\x95\x01mp4a\x01\x21\x10", mp3}, flv.CodecMP3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := publishing(t)
				for _, body := range c.frames {
					f := live.Frame{Type: flv.TagVideo, Payload: mem.Wrap([]byte(body), nil)}
					if _, err := flv.ParseAudio([]byte(body)); err == nil && body[0] > 0x27 { // pictures of H.264 are below
						f.Type = flv.TagAudio
					}
					if err := p.Publish(f); err != nil {
						t.Fatal(err)
					}
				}
				video, audio, err := Discover(t.Context(), p.Stream(), 0, nil)
				if err != nil || video == nil || audio == nil || audio.Codec != c.want {
					t.Errorf("%v, %v, %v, want %v", video, audio, err, c.want)
				}
			})
		})
	}
}
