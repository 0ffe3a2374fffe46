package record

import (
	"context"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/flv"
)

// Frames of a few bytes whose times stand still, as of an encoder of silence that is broken, never fill a fragment
// by bytes or by time: one has no more of them than its readers take.
func TestMovieOfManyTinyFrames(t *testing.T) {
	const frames = 70_000
	var avc recTag // the clip's sequence header
	for _, batch := range movieClip(1, 0).batches {
		if tag := batch[0]; tag.Type == flv.TagVideo && avc.Body == "" {
			avc = tag
		}
	}
	sound := recAudio(0, "\xaf\x00\x12\x10")
	for track, batch := range [][]recTag{
		{avc, sound, recVideo(0, recKey+"\x00\x00\x00\x01\x65")}, // the first fragment waits for sound
		{sound},
	} {
		one := []recTag{recVideo(0, "\x27\x01\x00\x00\x00\x00\x00\x00\x01\x41"), recAudio(0, "\xaf\x01a")}[track]
		r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
		batch = append(batch, slices.Repeat([]recTag{one}, frames)...)
		if err := r.Record(context.Background(), "live/s", &recSource{batches: [][]recTag{batch}}); err != nil {
			t.Fatal(err)
		}
		files := movieFiles(t, dir)
		if len(files) != 1 {
			t.Fatalf("files %q", files)
		}
		list, x := movieRead(t, files[0])
		if len(list[track])+track != frames+1 { // a key frame is before them
			t.Errorf("%d samples can be read, want %d", len(list[track]), frames)
		}
		if least := frames / mp4.MaxSamples; len(x.Fragments) < least {
			t.Errorf("%d fragments, at least %d", len(x.Fragments), least)
		}
	}
}
