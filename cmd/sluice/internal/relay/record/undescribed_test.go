package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// Frames of a codec whose sequence header has not come are left out of a movie that has a track of their kind
// already, and the rest of it is whole.
func TestMovieLeavesOutCodecsWithoutASequenceHeader(t *testing.T) {
	for name, stray := range map[string]recTag{
		"sound":    recAudio(0, "\x91Opus\xfc\x01\x02\x03"),
		"MP3":      recAudio(0, "\x2f no frame"),
		"pictures": recVideo(0, "\xa1vp09\x86\x00\x40\x92"),
		"a key":    recVideo(0, "\x91vp09\x82\x49\x83\x42\x00\x13\xf0\x0e\xf6\x06\x38\x24\x1c\x18\x4a\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
			src := movieClip(1, 0)
			at := slices.IndexFunc(src.batches, func(b []recTag) bool {
				return b[0].Type == stray.Type && b[0].Time > 1500
			})
			stray.Time = src.batches[at][0].Time
			src.batches = slices.Insert(src.batches, at, []recTag{stray})
			if err := r.Record(context.Background(), "live/s", src); err != nil {
				t.Fatal(err)
			}
			files := movieFiles(t, dir)
			if len(files) != 1 {
				t.Fatalf("files %q, want one", files)
			}
			got, _ := movieRead(t, files[0])
			movieCompare(t, got, movieWant())
		})
	}
}

// A stream that names one codec behind another fills neither the log nor the memory.
func TestMovieOfManyCodecsSaysFewOfThem(t *testing.T) {
	var log bytes.Buffer
	r, _ := recNew(t, func(o *Options) { o.Format, o.Logger = MP4, slog.New(slog.NewTextHandler(&log, nil)) })
	var batch []recTag
	for i := range uint32(10 * maxOmitted) {
		batch = append(batch, recAudio(i, "\x91"+string(binary.BigEndian.AppendUint32(nil, 0x61616161+i))+"frame"))
	}
	if err := r.Record(context.Background(), "live/s", &recSource{batches: [][]recTag{batch}}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "left out"); n != maxOmitted {
		t.Errorf("%d lines, want %d", n, maxOmitted)
	}
}
