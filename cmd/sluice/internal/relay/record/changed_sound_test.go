package record

import (
	"context"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// Sound that changes inside a group of pictures begins another file with the next key frame:
// the pictures up to that are in the file before.
func TestSoundThatChangesCostsNoPictures(t *testing.T) {
	const mp3 = "\x2f mp3"
	for name, c := range map[string]struct{ other, frame, back string }{
		"other parameters": {recAAC + "2", recSound + "2", ""},
		"another codec":    {"", mp3, ""},
		"and back":         {recAAC + "2", recSound + "2", recAAC},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := recNew(t, nil)
			batch := []recTag{recVideo(0, recConfig), recAudio(0, recAAC), recVideo(0, recKey), recAudio(10, recSound), recVideo(40, recInter)}
			if c.other != "" {
				batch = append(batch, recAudio(50, c.other))
			}
			batch = append(batch, recAudio(50, c.frame+"lost"), recVideo(80, recInter+"not lost"))
			header := c.other
			if c.back != "" {
				header = c.back
				batch = append(batch, recAudio(90, c.back), recAudio(90, recSound+"lost"))
			}
			batch = append(batch, recVideo(120, recKey+"2"), recAudio(130, c.frame))
			if err := r.Record(context.Background(), "live/s", &recSource{batches: [][]recTag{batch}}); err != nil {
				t.Fatal(err)
			}
			second := []recTag{recVideo(0, recConfig)}
			if header != "" {
				second = append(second, recAudio(0, header))
			}
			want := [][]recTag{
				{recVideo(0, recConfig), recAudio(0, recAAC), recVideo(0, recKey), recAudio(10, recSound), recVideo(40, recInter), recVideo(80, recInter+"not lost")},
				append(second, recVideo(0, recKey+"2"), recAudio(10, c.frame)),
			}
			recCompareFiles(t, dir, "live/s", want)
		})
	}
}

// Where pictures have ended, the next file begins with the sound that has changed.
func TestSoundThatChangesWithoutPictures(t *testing.T) {
	r, dir := recNew(t, nil)
	batch := []recTag{recVideo(0, recConfig), recAudio(0, recAAC), recVideo(0, recKey), recAudio(10, recSound)}
	for at := uint32(100); at <= 1000; at += 100 {
		batch = append(batch, recAudio(at, recSound))
	}
	batch = append(batch, recAudio(1000, recAAC+"2"), recAudio(1000, recSound+"lost"), recAudio(1050, recSound+"2"))
	if err := r.Record(context.Background(), "live/s", &recSource{batches: [][]recTag{batch}}); err != nil {
		t.Fatal(err)
	}
	files := recInOrder(t, dir, "live/s")
	if len(files) != 2 {
		t.Fatalf("files %q, want 2", files)
	}
	_, tags := recReadFile(t, files[1])
	recCompare(t, tags, []recTag{recAudio(0, recAAC+"2"), recAudio(0, recSound+"2")})
}

// The same of MP4.
func TestMovieWhoseSoundChangesHasAllPictures(t *testing.T) {
	r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
	src := movieClip(1, 0)
	for i, b := range src.batches {
		if b[0].Type == flv.TagAudio && b[0].Time > 2900 {
			stereo := b[0]
			stereo.Body = "\xaf\x00\x12\x10"
			src.batches[i] = append([]recTag{stereo}, b...)
			break
		}
	}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	files := movieFiles(t, dir)
	var sum [2]int
	for _, name := range files {
		got, _ := movieRead(t, name)
		sum[0], sum[1] = sum[0]+len(got[0]), sum[1]+len(got[1])
	}
	want := movieWant()
	if sum[0] != len(want[0]) {
		t.Errorf("%d pictures, want %d", sum[0], len(want[0]))
	}
	if lost := len(want[1]) - sum[1]; len(files) != 2 || lost <= 0 || lost > len(want[1])/4 {
		t.Errorf("%d files, %d of %d frames of sound are lost", len(files), lost, len(want[1]))
	}
}

// Sound whose other parameters come right before a key frame, as of an encoder that begins again, is all in the
// file that begins there, although its first frame comes behind it.
func TestMovieWhoseSoundChangesAtAKeyFrameHasAllSound(t *testing.T) {
	r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
	src := movieClip(1, 0)
	for i, b := range src.batches {
		if v, err := flv.ParseVideo([]byte(b[0].Body)); b[0].Type == flv.TagVideo && err == nil && v.Key() && b[0].Time > 1500 {
			src.batches[i] = []recTag{recAudio(b[0].Time, "\xaf\x00\x12\x10"), b[0]}
			break
		}
	}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	files := movieFiles(t, dir)
	var sum [2]int
	for _, name := range files {
		got, _ := movieRead(t, name)
		sum[0], sum[1] = sum[0]+len(got[0]), sum[1]+len(got[1])
	}
	if want := movieWant(); len(files) != 2 || sum != [2]int{len(want[0]), len(want[1])} {
		t.Errorf("%d files with %v pictures and frames of sound, want 2 with %d and %d", len(files), sum, len(want[0]), len(want[1]))
	}
}
