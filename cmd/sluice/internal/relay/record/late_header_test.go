package record

import (
	"context"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// A file begins with pictures that can be decoded: players give up one whose first picture comes before its
// sequence header.
func TestBeginsBehindTheSequenceHeader(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{batches: [][]recTag{{
		recAudio(0, recAAC), recVideo(0, recKey+"1"), recAudio(0, recSound+"1"), recVideo(40, recInter+"2"),
		recVideo(60, recConfig+"A"), recVideo(80, recInter+"3"),
		recVideo(400, recKey+"4"), recAudio(400, recSound+"4"), recVideo(440, recInter+"5"),
	}}}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	files := recFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	_, tags := recReadFile(t, files[0])
	recCompare(t, tags, []recTag{
		recAudio(0, recAAC), recVideo(0, recConfig+"A"),
		recVideo(0, recKey+"4"), recAudio(0, recSound+"4"), recVideo(40, recInter+"5"),
	})
}

// So in a file that began with sound: what refers to pictures that are left out is left out too.
func TestPicturesBehindTheSequenceHeader(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{batches: [][]recTag{{
		recAudio(0, recAAC), recAudio(0, recSound+"1"), recVideo(10, recKey+"1"), recAudio(20, recSound+"2"),
		recVideo(60, recConfig+"A"), recVideo(80, recInter+"3"), recVideo(400, recKey+"4"), recVideo(440, recInter+"5"),
	}}}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	_, tags := recReadFile(t, recFiles(t, dir)[0])
	recCompare(t, tags, []recTag{
		recAudio(0, recAAC), recAudio(0, recSound+"1"), recAudio(20, recSound+"2"),
		recVideo(60, recConfig+"A"), recVideo(400, recKey+"4"), recVideo(440, recInter+"5"),
	})
}

// Pictures whose sequence header never comes leave a recording of the sound.
func TestPicturesWithoutASequenceHeader(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{batches: [][]recTag{{recAudio(0, recAAC)}}}
	for at := uint32(0); at < 3000; at += 20 {
		src.batches = append(src.batches, []recTag{recVideo(at, recKey), recAudio(at, recSound)})
	}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	files := recFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	_, tags := recReadFile(t, files[0])
	if pictures := slices.ContainsFunc(tags, func(tag recTag) bool { return tag.Type == flv.TagVideo }); pictures || len(tags) < 50 {
		t.Errorf("%d tags, with pictures: %v", len(tags), pictures)
	}
}

// A codec is left out of a movie for as long as its configuration has no form there, and no longer.
func TestMovieWhoseSequenceHeaderComesLate(t *testing.T) {
	for name, early := range map[string]string{
		"none before":   "",
		"another first": "\x17\x00\x00\x00\x00\x01\x64\x00\x0d\xff\xe1\x00\x06\x67\x64\x00\x0d\xff\xff\x01\x00\x05\x68\xcb\x83\xcb\x20",
	} {
		t.Run(name, func(t *testing.T) {
			var tags []recTag
			for _, b := range movieClip(1, 0).batches {
				tags = append(tags, b...)
			}
			first := slices.IndexFunc(tags, func(tag recTag) bool { return tag.Type == flv.TagVideo && tag.Body[1] == 0 })
			config := tags[first]
			if early == "" {
				tags = slices.Delete(tags, first, first+1)
			} else {
				tags[first].Body = early
			}
			keys, pictures := 0, 0
			var all []recTag
			for _, tag := range tags {
				if tag.Type == flv.TagVideo && tag.Body[0] == recKey[0] && tag.Body[1] == 1 {
					if keys++; keys == 2 {
						all = append(all, recTag{flv.TagVideo, tag.Time, config.Body})
					}
				}
				if keys > 1 && tag.Type == flv.TagVideo && tag.Body[1] == 1 {
					pictures++
				}
				all = append(all, tag)
			}
			if pictures == 0 {
				t.Fatal("the clip has one key frame")
			}
			r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
			if err := r.Record(context.Background(), "live/s", recSplit(all, 5)); err != nil {
				t.Fatal(err)
			}
			got := 0
			for _, name := range movieFiles(t, dir) {
				list, _ := movieRead(t, name)
				got += len(list[0])
			}
			if got != pictures {
				t.Errorf("%d pictures, want %d", got, pictures)
			}
		})
	}
}
