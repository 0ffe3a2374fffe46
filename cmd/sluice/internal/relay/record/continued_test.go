package record

import (
	"context"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// continuedSource is a source whose stream another process records on.
type continuedSource struct{ *recSource }

func (continuedSource) Continued() bool { return true }

// continuedClip are the clip's tags as sources of batches of n: all, and from the newest key
// frame on with the headers that go before it.
func continuedClip(n int) (all, rest *recSource) {
	var tags, headers []recTag
	newest := 0
	for _, batch := range movieClip(1, 0).batches {
		tag := batch[0]
		if v, err := flv.ParseVideo([]byte(tag.Body)); tag.Type == flv.TagVideo && err == nil && v.Key() && !v.Config() {
			newest = len(tags)
		}
		if len(headers) < 3 {
			headers = append(headers, tag)
		}
		tags = append(tags, tag)
	}
	source := func(list []recTag) *recSource {
		s := &recSource{}
		for batch := range slices.Chunk(list, n) {
			s.batches = append(s.batches, batch)
		}
		return s
	}
	return source(tags), source(append(headers, tags[newest:]...))
}

// What two processes record of one stream is all of it, and nothing twice: the first leaves
// off before the key frame that the other begins with.
func TestRecordingThatAnotherProcessContinues(t *testing.T) {
	for _, format := range []Format{FLV, MP4} {
		for _, n := range []int{1, 7, 1000} {
			r, dir := recNew(t, func(o *Options) { o.Format, o.Index = format, true })
			all, rest := continuedClip(n)
			for _, src := range []Source{continuedSource{all}, rest} {
				if err := r.Record(context.Background(), "live/s", src); err != nil {
					t.Fatal(err)
				}
			}
			files := recFiles(t, dir)
			if len(files) != 2 {
				t.Fatalf("files %q", files)
			}
			slices.SortStableFunc(files, func(a, b string) int { return len(a) - len(b) }) // of one second: the second one has a number
			if format == MP4 {
				first, _ := movieRead(t, files[0])
				second, _ := movieRead(t, files[1])
				for i, want := range movieWant() {
					got := slices.Concat(first[i], second[i])
					same := func(a, b movieSample) bool { return a.crc == b.crc && a.key == b.key && a.offset == b.offset }
					if !slices.EqualFunc(got, want, same) {
						t.Errorf("batches of %d: track %d has %d and %d samples, want %d", n, i+1, len(first[i]), len(second[i]), len(want))
					}
				}
				continue
			}
			media := func(name string) (list []recTag) {
				_, tags := recReadFile(t, name)
				for _, tag := range tags {
					config := len(tag.Body) > 1 && tag.Body[1] == 0
					if tag.Type != flv.TagScript && !config {
						list = append(list, recTag{tag.Type, 0, tag.Body})
					}
				}
				return list
			}
			whole, wholeDir := recNew(t, nil)
			again, _ := continuedClip(n)
			if err := whole.Record(context.Background(), "live/s", again); err != nil {
				t.Fatal(err)
			}
			recCompare(t, slices.Concat(media(files[0]), media(files[1])), media(recFiles(t, wholeDir)[0]))
		}
	}
}

// A file that begins with the newest key frame stays as it is.
func TestContinuedRecordingOfOneKeyFrame(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{batches: [][]recTag{{recVideo(0, recConfig), recVideo(0, recKey), recVideo(40, recInter)}}}
	if err := r.Record(context.Background(), "live/s", continuedSource{src}); err != nil {
		t.Fatal(err)
	}
	if _, tags := recReadFile(t, recFiles(t, dir)[0]); len(tags) != 3 {
		t.Errorf("%d tags", len(tags))
	}
}
