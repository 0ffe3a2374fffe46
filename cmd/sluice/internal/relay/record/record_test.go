package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/internal/flvwalk"
)

func TestBeginsAtTheFirstKeyFrame(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{batches: [][]recTag{
		{{flv.TagScript, 5000, recMeta}, recVideo(5000, recConfig+"A"), recAudio(5000, recAAC)},
		{recVideo(5000, recInter+"x"), recAudio(5010, recSound+"x")},
		{recVideo(5040, recKey+"1"), recAudio(5033, recSound+"1")}, // audio a little before
		{recVideo(5080, recInter+"2"), {flv.TagScript, 5090, "\x02\x00\x01cxyz"}, {15, 5090, "?"}, recAudio(5100, recSound+"2")},
	}}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	files := recFiles(t, dir)
	if len(files) != 1 || !strings.HasPrefix(files[0], filepath.Join(dir, "live", "s-")) || filepath.Ext(files[0]) != ".flv" {
		t.Fatalf("files %q", files)
	}
	if _, err := time.Parse(stamp, strings.TrimSuffix(strings.TrimPrefix(files[0], filepath.Join(dir, "live", "s-")), ".flv")); err != nil {
		t.Error(err)
	}
	flags, tags := recReadFile(t, files[0])
	if flags != flvwalk.HasAudio|flvwalk.HasVideo {
		t.Errorf("flags %#x", flags)
	}
	recCompare(t, tags, []recTag{
		{flv.TagScript, 0, recMeta}, recVideo(0, recConfig+"A"), recAudio(0, recAAC),
		recVideo(7, recKey+"1"), recAudio(0, recSound+"1"),
		recVideo(47, recInter+"2"), {flv.TagScript, 57, "\x02\x00\x01cxyz"}, recAudio(67, recSound+"2"),
	})
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Stats(); got != (Stats{Files: 1, Bytes: info.Size()}) {
		t.Errorf("%+v of a file of %d bytes", got, info.Size())
	}
}

func TestTimesAcrossTheWrap(t *testing.T) {
	r, dir := recNew(t, nil)
	const near = 1<<32 - 30
	src := &recSource{batches: [][]recTag{{recVideo(near, recConfig), recVideo(near, recKey), recVideo(10, recInter), recVideo(1<<24, recInter)}}}
	if err := r.Record(context.Background(), "a/b", src); err != nil {
		t.Fatal(err)
	}
	_, tags := recReadFile(t, recFiles(t, dir)[0])
	recCompare(t, tags, []recTag{recVideo(0, recConfig), recVideo(0, recKey), recVideo(40, recInter), recVideo(1<<24+30, recInter)})
}

func TestFlagsSayWhatThereIs(t *testing.T) {
	for _, c := range []struct {
		name  string
		tags  []recTag
		flags byte
	}{
		{"audio", []recTag{recAudio(0, recAAC), recAudio(10, recSound)}, flvwalk.HasAudio},
		{"audio that needs no header", []recTag{recAudio(10, "\x2f mp3")}, flvwalk.HasAudio},
		{"video", []recTag{recVideo(0, recConfig), recVideo(10, recKey)}, flvwalk.HasVideo},
		{"both", []recTag{recAudio(0, recAAC), recVideo(0, recConfig), recVideo(10, recKey)}, flvwalk.HasAudio | flvwalk.HasVideo},
		{"audio that comes late", []recTag{recVideo(0, recConfig), recVideo(10, recKey), recAudio(20, recAAC), recAudio(20, recSound)}, flvwalk.HasAudio | flvwalk.HasVideo},
		{"video that comes late", []recTag{recAudio(0, recAAC), recAudio(10, recSound), recVideo(20, recConfig), recVideo(20, recKey)}, flvwalk.HasAudio | flvwalk.HasVideo},
	} {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s,together=%v", c.name, together), func(t *testing.T) {
				r, dir := recNew(t, nil)
				src := &recSource{batches: [][]recTag{c.tags}}
				if !together {
					src.batches = nil
					for _, tag := range c.tags {
						src.batches = append(src.batches, []recTag{tag})
					}
				}
				if err := r.Record(context.Background(), "a/b", src); err != nil {
					t.Fatal(err)
				}
				flags, tags := recReadFile(t, recFiles(t, dir)[0])
				if flags != c.flags || len(tags) != len(c.tags) {
					t.Errorf("flags %#x and %d tags, want %#x and %d", flags, len(tags), c.flags, len(c.tags))
				}
			})
		}
	}
}

func TestAnotherSequenceHeaderIsAnotherFile(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{batches: [][]recTag{
		{{flv.TagScript, 0, recMeta}, recVideo(0, recConfig+"A"), recAudio(0, recAAC), recVideo(0, recKey), recAudio(5, recSound)},
		// A publisher who loops its file says the same again.
		{{flv.TagScript, 10, recMeta}, recVideo(10, recConfig+"A"), recAudio(10, recAAC), recVideo(20, recKey)},
		{recVideo(40, recConfig+"B"), recVideo(40, recInter+"lost"), recAudio(45, recSound+"lost"), recVideo(60, recKey+"B"), recAudio(70, recSound)},
		{recAudio(80, recAAC+"2"), recAudio(80, recSound+"lost"), recVideo(100, recKey+"C")},
		// Another codec on the same track takes the old header's place.
		{recVideo(120, "\x90hvc1D"), recVideo(130, "\x93hvc1D")},
	}}
	if err := r.Record(context.Background(), "a/b", src); err != nil {
		t.Fatal(err)
	}
	want := [][]recTag{
		{{flv.TagScript, 0, recMeta}, recVideo(0, recConfig+"A"), recAudio(0, recAAC), recVideo(0, recKey), recAudio(5, recSound), recVideo(20, recKey)},
		{{flv.TagScript, 0, recMeta}, recVideo(0, recConfig+"B"), recAudio(0, recAAC), recVideo(0, recKey+"B"), recAudio(10, recSound)},
		{{flv.TagScript, 0, recMeta}, recVideo(0, recConfig+"B"), recAudio(0, recAAC+"2"), recVideo(0, recKey+"C")},
		{{flv.TagScript, 0, recMeta}, recVideo(0, "\x90hvc1D"), recAudio(0, recAAC+"2"), recVideo(0, "\x93hvc1D")},
	}
	recCompareFiles(t, dir, "a/b", want)
}

// recInOrder lists the files of a stream in the order in which they were made:
// by their seconds, within one by their numbers.
func recInOrder(t *testing.T, dir, stream string) []string {
	t.Helper()
	var names []string
	seen := map[string]bool{}
	for _, f := range recFiles(t, dir) {
		stem := strings.TrimSuffix(f, ".flv")
		prefix := filepath.Join(dir, filepath.FromSlash(stream)) + "-"
		stem = prefix + strings.TrimPrefix(stem, prefix)[:len(stamp)]
		if seen[stem] {
			continue
		}
		seen[stem] = true
		for n := 1; ; n++ {
			name := stem + ".flv"
			if n > 1 {
				name = fmt.Sprintf("%s-%d.flv", stem, n)
			}
			if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
				break
			}
			names = append(names, name)
		}
	}
	return names
}

func TestGoesOnAtAKeyFrameAfterAGap(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{
		batches: [][]recTag{
			{recVideo(0, recConfig), recVideo(0, recKey)},
			{recVideo(500, recConfig), recVideo(500, recInter+"lost"), recAudio(510, recSound+"lost"), recVideo(600, recKey), recAudio(610, recSound)},
		},
		dropped: map[int]int{1: 7},
	}
	if err := r.Record(context.Background(), "a/b", src); err != nil {
		t.Fatal(err)
	}
	_, tags := recReadFile(t, recFiles(t, dir)[0])
	recCompare(t, tags, []recTag{recVideo(0, recConfig), recVideo(0, recKey), recVideo(600, recKey), recAudio(610, recSound)})
	if got := r.Stats().Dropped; got != 9 {
		t.Errorf("%d counted as dropped, want the 7 of the source and 2", got)
	}
}

func TestLongRecordingsAreDivided(t *testing.T) {
	r, dir := recNew(t, nil)
	const day = 24 * 3600 * 1000
	src := &recSource{batches: [][]recTag{{
		recVideo(7, recConfig), recVideo(7, recKey), recVideo(7+24*day, recKey), recVideo(8+24*day, recInter), recVideo(9+24*day, recKey),
	}}}
	if err := r.Record(context.Background(), "a/b", src); err != nil {
		t.Fatal(err)
	}
	files := recInOrder(t, dir, "a/b")
	if len(files) != 2 {
		t.Fatalf("files %q", files)
	}
	_, tags := recReadFile(t, files[0])
	recCompare(t, tags, []recTag{recVideo(0, recConfig), recVideo(0, recKey), recVideo(24*day, recKey), recVideo(24*day+1, recInter)})
	_, tags = recReadFile(t, files[1])
	recCompare(t, tags, []recTag{recVideo(0, recConfig), recVideo(0, recKey)})
}

func TestNothingToPlayLeavesNoFile(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{batches: [][]recTag{{{flv.TagScript, 0, recMeta}, recVideo(0, recConfig), recVideo(0, recInter), recAudio(0, recSound)}}}
	if err := r.Record(context.Background(), "a/b", src); err != nil {
		t.Fatal(err)
	}
	if files := recFiles(t, dir); len(files) != 0 {
		t.Errorf("files %q", files)
	}
}

func TestLargeTagsAndManyInABatch(t *testing.T) {
	r, dir := recNew(t, nil)
	batch := []recTag{recVideo(0, recConfig), recVideo(0, recBig(recKey, keepAt+flushAt))}
	for i := range uint32(2000) {
		batch = append(batch, recVideo(i, recBig(recInter, 1000)))
	}
	if err := r.Record(context.Background(), "a/b", &recSource{batches: [][]recTag{batch, batch[1:]}}); err != nil {
		t.Fatal(err)
	}
	_, tags := recReadFile(t, recFiles(t, dir)[0])
	recCompare(t, tags, append(batch, batch[1:]...))
}

func TestClipIsRecordedByteForByte(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{}
	w := flvwalk.New(sluice.NewBufReaderBytes(flvclip.File))
	for {
		tag, err := w.Next()
		if err != nil {
			break
		}
		src.batches = append(src.batches, []recTag{{flv.TagType(tag.Type), tag.Time, string(tag.Data)}})
	}
	if err := r.Record(context.Background(), "live/clip", src); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(recFiles(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(flvclip.File) {
		_, tags := recRead(t, got)
		var want []recTag
		for _, b := range src.batches {
			want = append(want, b...)
		}
		recCompare(t, tags, want)
		t.Errorf("%d bytes, the clip has %d", len(got), len(flvclip.File))
	}
}

func TestSourceErrorsEndTheFileInOrder(t *testing.T) {
	r, dir := recNew(t, nil)
	src := &recSource{batches: [][]recTag{{recVideo(0, recConfig), recVideo(0, recKey)}}, end: errors.New("closed")}
	if err := r.Record(context.Background(), "a/b", src); err != nil {
		t.Errorf("the end of the stream is reported as %v", err)
	}
	if _, tags := recReadFile(t, recFiles(t, dir)[0]); len(tags) != 2 {
		t.Errorf("%d tags", len(tags))
	}
}

// Sound that gets another codec begins another file, also where that has no sequence header:
// players take the codec that a file begins with.
func TestAnotherCodecOfSoundBeginsAFile(t *testing.T) {
	r, dir := recNew(t, nil)
	const mp3 = "\x2f mp3"
	src := &recSource{batches: [][]recTag{
		{recVideo(0, recConfig), recAudio(0, recAAC), recVideo(0, recKey), recAudio(10, recSound)},
		{recAudio(1000, mp3+"lost"), recVideo(1040, recKey), recAudio(1040, mp3), recAudio(1060, mp3)},
		{recAudio(2000, recAAC), recAudio(2000, recSound+"lost"), recVideo(2000, recKey), recAudio(2010, recSound)},
	}}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	want := [][]recTag{
		{recVideo(0, recConfig), recAudio(0, recAAC), recVideo(0, recKey), recAudio(10, recSound)},
		{recVideo(0, recConfig), recVideo(0, recKey), recAudio(0, mp3), recAudio(20, mp3)},
		{recVideo(0, recConfig), recAudio(0, recAAC), recVideo(0, recKey), recAudio(10, recSound)},
	}
	recCompareFiles(t, dir, "live/s", want)
}
