package record

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
)

// aloneHeader is that of the clip's sound, said in more words: another header to the
// relay, the same to a decoder.
const aloneHeader = "\x56\xe5\x00"

// alone are the clip's tags of one kind only, later by shift, its header of sound being another.
func alone(shift uint32, keep func(recTag) bool) (tags []recTag) {
	for _, b := range movieClip(1, shift).batches {
		tag := b[0]
		if tag.Type == flv.TagAudio && tag.Body[1] == 0 {
			tag.Body += aloneHeader
		}
		if tag.Type != flv.TagScript && keep(tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// aloneProbe returns how many frames ffprobe decodes of each kind.
func aloneProbe(t *testing.T, name string) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=codec_type,nb_read_frames", "-of", "csv=p=0", name).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	frames := map[string]int{}
	for line := range strings.Lines(string(out)) {
		kind, n, _ := strings.Cut(strings.TrimSpace(line), ",")
		if frames[kind], err = strconv.Atoi(n); err != nil {
			t.Fatalf("%s: %s", name, out)
		}
	}
	return frames
}

// A publisher comes back with another header of sound and no pictures, then with pictures
// too, of which the first have no key frame.
func TestSoundAloneIsRecorded(t *testing.T) {
	sound := alone(10_000, func(tag recTag) bool { return tag.Type == flv.TagAudio })
	late := alone(20_000, func(recTag) bool { return true })
	key := slices.IndexFunc(late, func(tag recTag) bool { return tag.Type == flv.TagVideo && tag.Body[1] != 0 })
	late = slices.Delete(late, key, key+1)
	for _, c := range []struct {
		format Format
		want   []string
	}{
		// Of each, a second of sound passes until it is known to be alone.
		{FLV, []string{"map[audio:432 video:300]", "map[audio:820 video:240]"}},
		{MP4, []string{"map[audio:432 video:300]", "map[audio:476]", "map[audio:347 video:240]"}},
	} {
		t.Run(string(c.format), func(t *testing.T) {
			var names []string
			r, dir := recNew(t, func(o *Options) {
				o.Format = c.format
				o.Began = func(_, name string) { names = append(names, name) }
			})
			src := &recSource{batches: [][]recTag{slices.Concat(movieClip(1, 0).batches...), sound, late}}
			if err := r.Record(t.Context(), "live/s", src); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, name := range names {
				got = append(got, fmt.Sprint(aloneProbe(t, filepath.Join(dir, name))))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("files with %q, want %q", got, c.want)
			}
		})
	}
}

// aloneSounds are frames of sound from one time to another, each step milliseconds.
func aloneSounds(from, to, step uint32) (tags []recTag) {
	for at := from; at <= to; at += step {
		tags = append(tags, recAudio(at, recSound))
	}
	return tags
}

// aloneRecord records batches as FLV, and returns the tags of the files.
func aloneRecord(t *testing.T, o Options, dropped map[int]int, batches ...[]recTag) (files [][]recTag) {
	t.Helper()
	var names []string
	r, dir := recNew(t, func(to *Options) {
		to.Segment = o.Segment
		to.Began = func(_, name string) { names = append(names, name) }
	})
	if err := r.Record(t.Context(), "a/b", &recSource{batches: batches, dropped: dropped}); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, tags := recReadFile(t, filepath.Join(dir, name))
		files = append(files, tags)
	}
	return files
}

// A file that began with sound has the newest headers of video before its first picture.
func TestHeadersOfVideoComeWithItsFirstPicture(t *testing.T) {
	files := aloneRecord(t, Options{}, nil,
		[]recTag{recVideo(0, recConfig), recAudio(0, recAAC)},
		aloneSounds(5000, 6500, 500),
		[]recTag{recVideo(6600, recConfig+"new"), recVideo(6600, recInter+"lost"), recVideo(6640, recKey), recVideo(6680, recInter)})
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	recCompare(t, files[0], []recTag{
		recAudio(0, recAAC), recAudio(0, recSound),
		recVideo(140, recConfig+"new"), recVideo(140, recKey), recVideo(180, recInter),
	})
}

// After a gap a recording goes on with sound, unless pictures come.
func TestGoesOnWithSoundAfterAGap(t *testing.T) {
	files := aloneRecord(t, Options{}, map[int]int{1: 1},
		[]recTag{recVideo(0, recConfig), recAudio(0, recAAC), recVideo(0, recKey)},
		aloneSounds(2000, 3500, 500),
		[]recTag{recVideo(3600, recInter+"lost"), recAudio(3600, recSound), recVideo(3700, recKey)})
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	recCompare(t, files[0], []recTag{
		recVideo(0, recConfig), recAudio(0, recAAC), recVideo(0, recKey),
		recAudio(3500, recSound), recAudio(3600, recSound), recVideo(3700, recKey),
	})
}

// Segments of a stream with few pictures begin at key frames, those of sound alone do not
// wait for one.
func TestSegmentsOfSoundAlone(t *testing.T) {
	files := aloneRecord(t, Options{Segment: 4 * time.Second}, nil,
		[]recTag{recVideo(0, recConfig), recAudio(0, recAAC), recVideo(0, recKey)},
		aloneSounds(500, 5000, 500), []recTag{recVideo(5250, recInter)},
		aloneSounds(5500, 20_000, 500), []recTag{recVideo(20_100, recKey)})
	var got []string
	for _, tags := range files {
		first := tags[slices.IndexFunc(tags, func(tag recTag) bool { return tag.Body[1] != 0 })]
		got = append(got, fmt.Sprint(first.Type, len(tags)))
	}
	want := []string{"video 35", "audio 9", "audio 4"}
	if !slices.Equal(got, want) {
		t.Errorf("files with %q, want %q", got, want)
	}
}
