package record

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
)

// lagging is a stream whose sound, 20 ms a frame, comes behind pictures that are lag ms newer, from
// a time on, with a key frame each second.
func lagging(from, lag, length uint32) []recTag {
	tags := []recTag{recVideo(from, recConfig), recAudio(from, recAAC)}
	for at := uint32(0); at < length; at += 20 {
		switch {
		case at%1000 == 0:
			tags = append(tags, recVideo(from+at, recKey))
		case at%40 == 0:
			tags = append(tags, recVideo(from+at, recInter))
		}
		tags = append(tags, recAudio(from+at-lag, recSound))
	}
	return tags
}

// Sound that comes behind the first key frame and is older keeps its times: the file's 0 is its
// first one's, however the stream is cut into batches, and in each file.
func TestSoundOlderThanTheFirstPicture(t *testing.T) {
	for _, from := range []uint32{5000, 100} { // times wrap
		for _, lag := range []uint32{0, 20, 200, 1500} {
			for _, n := range []int{1, 7, 1000} {
				var names []string
				var lengths []time.Duration
				r, dir := recNew(t, func(o *Options) {
					o.Index, o.Segment = true, 3*time.Second
					o.Ended = func(_, name string, _ int64, length time.Duration, _ string) {
						names, lengths = append(names, name), append(lengths, length)
					}
				})
				tags := lagging(from, lag, 6000)
				if err := r.Record(t.Context(), "a/b", recSplit(tags, n)); err != nil {
					t.Fatal(err)
				}
				rest := tags[2:]
				for i, name := range names {
					file, err := os.ReadFile(dir + "/" + name)
					if err != nil {
						t.Fatal(err)
					}
					_, got := recRead(t, file)
					got = slices.DeleteFunc(got, func(tag recTag) bool { return tag.Type == flv.TagScript || tag.Body[1] == 0 })
					if len(got) > len(rest) {
						t.Fatalf("%d tags in the last file, %d are left", len(got), len(rest))
					}
					zero, last, keys := rest[0].Time-lag, uint32(0), []float64(nil)
					var want []recTag
					for _, tag := range rest[:len(got)] {
						tag.Time -= zero
						last = max(last, tag.Time)
						if tag.Body == recKey {
							keys = append(keys, float64(tag.Time)/1000)
						}
						want = append(want, tag)
					}
					rest = rest[len(got):]
					recCompare(t, got, want)
					if times, meta := recKeys(t, file); !slices.Equal(times, keys) || meta.Number("duration") != float64(last)/1000 {
						t.Errorf("key frames at %v for %v s, want %v for %d ms", times, meta.Number("duration"), keys, last)
					}
					if lengths[i] != time.Duration(last)*time.Millisecond {
						t.Errorf("the length is %v, want %d ms", lengths[i], last)
					}
				}
				if len(rest) > 0 || len(names) < 2 || t.Failed() {
					t.Fatalf("from %d, lag %d, batches of %d: %d files, %d tags are lost", from, lag, n, len(names), len(rest))
				}
			}
		}
	}
}

// What waits for sound is written when the sound stays away, and when it is much.
func TestWaitingForSoundEnds(t *testing.T) {
	for name, more := range map[string]recTag{
		"a second is over": recVideo(5000+soundWait, recInter),
		"large":            recVideo(5000, recBig(recInter, waitMost)),
		"sound":            recAudio(5000, recSound),
	} {
		t.Run(name, func(t *testing.T) {
			f := &recFault{room: -1}
			r, _ := recNew(t, nil)
			r.create = func(string) (File, error) { return f, nil }
			src := &recSource{batches: [][]recTag{{recVideo(5000, recConfig), recAudio(5000, recAAC), recVideo(5000, recKey)}, {recAudio(4900, recSound)}, {more}}}
			src.before = func(n int) {
				if written := len(f.data) > 0; written != (n > 2) {
					t.Errorf("after %d batches: %d bytes are written", n, len(f.data))
				}
			}
			if err := r.Record(t.Context(), "a/b", src); err != nil {
				t.Fatal(err)
			}
			_, tags := recRead(t, f.data)
			more.Time -= 4900
			recCompare(t, tags, []recTag{recVideo(0, recConfig), recAudio(0, recAAC), recVideo(100, recKey), recAudio(0, recSound), more})
		})
	}
}

// What was cut out at the end of a recording that another process continues is not in its length.
func TestCutWhileItWaitsForSound(t *testing.T) {
	r, dir := recNew(t, nil)
	var length time.Duration
	r.options.Ended = func(_, _ string, _ int64, l time.Duration, _ string) { length = l }
	src := &recSource{batches: [][]recTag{{
		recVideo(5000, recConfig), recAudio(5000, recAAC),
		recVideo(5000, recKey), recAudio(4900, recSound), recVideo(5040, recInter), recVideo(5080, recKey), recAudio(4920, recSound),
	}}}
	if err := r.Record(t.Context(), "a/b", continuedSource{src}); err != nil {
		t.Fatal(err)
	}
	_, tags := recReadFile(t, recFiles(t, dir)[0])
	recCompare(t, tags, []recTag{
		recVideo(0, recConfig), recAudio(0, recAAC),
		recVideo(100, recKey), recAudio(0, recSound), recVideo(140, recInter),
	})
	if length != 140*time.Millisecond {
		t.Errorf("the length is %v", length)
	}
}

// Sound whose header comes with it is waited for too, where the metadata names its codec.
func TestSoundThatTheMetadataNames(t *testing.T) {
	meta := func(name string) recTag {
		p, err := flv.AppendScript(nil, "onMetaData", amf0.ECMAArray{{Name: name, Value: 10.0}})
		if err != nil {
			t.Fatal(err)
		}
		return recTag{flv.TagScript, 0, string(p)}
	}
	for _, name := range []string{"audiocodecid", "videocodecid"} {
		r, dir := recNew(t, nil)
		src := &recSource{batches: [][]recTag{
			{meta(name), recVideo(500, recConfig), recVideo(500, recKey)},
			{recAudio(479, recAAC), recAudio(479, recSound), recAudio(500, recSound), recVideo(540, recInter)},
		}}
		src.before = func(n int) {
			if n != 1 {
				return
			}
			if info, err := os.Stat(recFiles(t, dir)[0]); err != nil || (info.Size() == 0) != (name == "audiocodecid") {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		if err := r.Record(t.Context(), "a/b", src); err != nil {
			t.Fatal(err)
		}
		if _, tags := recReadFile(t, recFiles(t, dir)[0]); name == "audiocodecid" {
			recCompare(t, tags, []recTag{
				meta(name), recVideo(0, recConfig), recVideo(21, recKey),
				recAudio(0, recAAC), recAudio(0, recSound), recAudio(21, recSound), recVideo(61, recInter),
			})
		}
	}
}
