package record

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/internal/flvwalk"
)

// movieClip is the clip as batches of n tags, its times moved by shift.
func movieClip(n int, shift uint32) *recSource {
	s := &recSource{}
	var batch []recTag
	for p := flvclip.File[flv.HeaderLen+flv.PrevTagSizeLen:]; len(p) > 0; {
		h, err := flv.ParseTagHeader(p)
		if err != nil {
			panic(err)
		}
		batch = append(batch, recTag{h.Type, h.Time + shift, string(p[flv.TagHeaderLen : flv.TagHeaderLen+h.Size])})
		p = p[flv.TagHeaderLen+h.Size+flv.PrevTagSizeLen:]
		if len(batch) == n || len(p) == 0 {
			s.batches, batch = append(s.batches, batch), nil
		}
	}
	return s
}

// movieSample is one of a file: when, in the file, and what.
type movieSample struct {
	at, offset time.Duration
	key        bool
	crc        uint32
}

// movieRead reads a file's samples, of pictures and of sound.
func movieRead(t *testing.T, name string) (list [2][]movieSample, x *mp4.Index) {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if x, err = mp4.Scan(bytes.NewReader(p), int64(len(p))); err != nil {
		t.Fatal(err)
	}
	for _, f := range x.Fragments {
		runs, err := x.Runs(bytes.NewReader(p), f)
		if err != nil {
			t.Fatal(err)
		}
		data := p[f.At+int64(f.Head):]
		for _, r := range runs {
			if !bytes.Contains(x.Header, append([]byte("trex\x00\x00\x00\x00"), 0, 0, 0, byte(r.Track))) {
				t.Fatalf("%s: a fragment has samples of track %d, which the header does not have", name, r.Track)
			}
			scale, ticks := []time.Duration{90000, 44100}[r.Track-1], r.Base
			for _, s := range r.Samples {
				to := &list[r.Track-1]
				*to = append(*to, movieSample{time.Duration(ticks) * time.Second / scale, time.Duration(s.Offset) * time.Second / scale, s.Key, crc32.ChecksumIEEE(data[:s.Size])})
				ticks += uint64(s.Duration)
				data = data[s.Size:]
			}
		}
	}
	return list, x
}

// movieWant are the clip's samples from the first key frame on.
func movieWant() (list [2][]movieSample) {
	began, zero := false, uint32(0)
	for _, batch := range movieClip(1, 0).batches {
		tag := batch[0]
		body := []byte(tag.Body)
		s := movieSample{at: time.Duration(tag.Time-zero) * time.Millisecond}
		switch tag.Type {
		case flv.TagVideo:
			h, _ := flv.ParseVideo(body)
			if h.Config() || !began && !h.Key() || h.Frame == flv.FrameCommand || len(h.Body(body)) == 0 {
				continue
			}
			if !began {
				began, zero, s.at = true, tag.Time, 0
			}
			s.key, s.offset, s.crc = h.Key(), time.Duration(h.CompositionTime)*time.Millisecond, crc32.ChecksumIEEE(h.Body(body))
			list[0] = append(list[0], s)
		case flv.TagAudio:
			h, _ := flv.ParseAudio(body)
			if began && !h.Config() && len(h.Body(body)) > 0 {
				s.key, s.crc = true, crc32.ChecksumIEEE(h.Body(body))
				list[1] = append(list[1], s)
			}
		}
	}
	return list
}

// movieCompare checks what a viewer sees and hears, and that it can be decoded in that order.
func movieCompare(t *testing.T, got, want [2][]movieSample) {
	t.Helper()
	for i, list := range got {
		if len(list) != len(want[i]) {
			t.Fatalf("track %d has %d samples, want %d", i+1, len(list), len(want[i]))
		}
		for k, s := range list {
			w := want[i][k]
			if d := (s.at + s.offset - w.at - w.offset).Abs(); d > 2*time.Millisecond || s.key != w.key || s.crc != w.crc {
				t.Fatalf("track %d, sample %d: %+v, want %+v", i+1, k, s, w)
			}
			if s.offset < 0 || k > 0 && s.at < list[k-1].at {
				t.Fatalf("track %d, sample %d: %+v", i+1, k, s)
			}
		}
	}
}

func movieFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.mp4"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// That other tracks are left out is said, once for a file.
func TestMovieSaysThatItHasOneTrackOfEachKind(t *testing.T) {
	for _, several := range []bool{false, true} {
		var log bytes.Buffer
		r, _ := recNew(t, func(o *Options) { o.Format, o.Logger = MP4, slog.New(slog.NewTextHandler(&log, nil)) })
		src := movieClip(1, 0)
		for i, b := range src.batches {
			if several && b[0].Type == flv.TagAudio {
				src.batches[i] = append(b, recTag{flv.TagAudio, b[0].Time, "\x95\x01mp4a\x01\x21\x10"})
			}
		}
		if err := r.Record(context.Background(), "live/s", src); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "the first track of each kind"); n > 1 || n == 1 != several {
			t.Errorf("several tracks: %v, it is said %d times", several, n)
		}
	}
}

func TestMovieHasWhatWasPublished(t *testing.T) {
	for _, c := range []struct {
		batch int
		shift uint32
	}{{1, 0}, {7, 1 << 31}, {1000, 1<<32 - 500}} {
		r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
		if err := r.Record(context.Background(), "live/s", movieClip(c.batch, c.shift)); err != nil {
			t.Fatal(err)
		}
		files := movieFiles(t, dir)
		if len(files) != 1 {
			t.Fatalf("files %q", files)
		}
		got, x := movieRead(t, files[0])
		movieCompare(t, got, movieWant())
		for i, f := range x.Fragments {
			if f.Length > 2*time.Second || f.Length == 0 || i > 0 && !f.Wall.After(x.Fragments[i-1].Wall) {
				t.Errorf("fragment %d: %+v", i, f)
			}
		}
		info, err := os.Stat(files[0])
		if s := r.Stats(); err != nil || s.Bytes != info.Size() || x.End != info.Size() || s.Files != 1 || s.Dropped != 0 {
			t.Errorf("%+v, %d bytes are fragments, the file is %d long: %v", s, x.End, info.Size(), err)
		}
		if r.Open(filepath.Base(files[0])) {
			t.Error("a file that has ended is open")
		}
	}
}

// Pictures that FLV has shown before they are decoded are beside the sound where they were: of a
// negative offset in a file ffmpeg makes a delay of all pictures.
func TestMovieOfPicturesThatAreShownTooEarly(t *testing.T) {
	const early = 120
	r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
	src, want := movieClip(7, 0), movieWant()
	for _, batch := range src.batches {
		for i := range batch {
			if tag := &batch[i]; tag.Type == flv.TagVideo && tag.Body[1] == 1 {
				at := int32(tag.Body[2])<<16 | int32(tag.Body[3])<<8 | int32(tag.Body[4]) - early
				tag.Body = tag.Body[:2] + string([]byte{byte(at >> 16), byte(at >> 8), byte(at)}) + tag.Body[5:]
			}
		}
	}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	got, _ := movieRead(t, movieFiles(t, dir)[0])
	from := want[0][0].at + want[0][0].offset - early*time.Millisecond
	for i := range want[0] {
		want[0][i].offset -= early * time.Millisecond
	}
	// The file's 0 is the first decode time.
	shift := got[0][0].at + got[0][0].offset - from
	for _, list := range want {
		for i := range list {
			list[i].at += shift
		}
	}
	movieCompare(t, got, want)
	if least := slices.MinFunc(got[0], func(a, b movieSample) int { return int(a.offset - b.offset) }); least.offset > 2*time.Millisecond {
		t.Errorf("the least offset is %v", least.offset)
	}
}

func TestSegmentsOfMoviesLoseNothing(t *testing.T) {
	r, dir := recNew(t, func(o *Options) { o.Format, o.Segment = MP4, time.Second })
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	r.now = func() time.Time { now = now.Add(20 * time.Millisecond); return now }
	if err := r.Record(context.Background(), "live/s", movieClip(5, 0)); err != nil {
		t.Fatal(err)
	}
	files := movieFiles(t, dir)
	if len(files) < 2 {
		t.Fatalf("files %q", files)
	}
	want := movieWant()
	for _, name := range files {
		got, _ := movieRead(t, name)
		if len(got[0]) == 0 || !got[0][0].key {
			t.Fatalf("%s does not begin at a key frame", name)
		}
		for i := range got {
			if len(got[i]) > len(want[i]) {
				t.Fatal("more samples than were published")
			}
			for k, s := range got[i] {
				if s.crc != want[i][k].crc {
					t.Fatalf("%s: track %d, sample %d is another", name, i+1, k)
				}
			}
			want[i] = want[i][len(got[i]):]
		}
	}
	if len(want[0])+len(want[1]) > 0 {
		t.Errorf("%d pictures and %d frames of sound are missing", len(want[0]), len(want[1]))
	}
}

func TestSegmentsOfFLVBeginAtKeyFrames(t *testing.T) {
	r, dir := recNew(t, func(o *Options) { o.Segment = time.Second })
	if err := r.Record(context.Background(), "live/s", movieClip(5, 0)); err != nil {
		t.Fatal(err)
	}
	files := recFiles(t, dir)
	if len(files) < 2 {
		t.Fatalf("files %q", files)
	}
	for _, name := range files {
		_, tags := recReadFile(t, name)
		i := 0
		for tags[i].Type == flv.TagScript || tags[i].Body[1] == 0 {
			i++
		}
		if tags[i].Type != flv.TagVideo || tags[i].Body[0]>>4 != 1 || tags[i].Time != 0 {
			t.Errorf("%s begins with %v at %d ms", name, tags[i].Type, tags[i].Time)
		}
	}
}

// What a movie has no form for is left out, and the rest is recorded.
func TestMovieLeavesOutWhatItCannotHave(t *testing.T) {
	r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
	src := movieClip(5, 0)
	for i := range src.batches {
		for k := range src.batches[i] {
			if tag := &src.batches[i][k]; tag.Type == flv.TagAudio {
				tag.Body = "\x72" + tag.Body // G.711
			}
		}
	}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	got, _ := movieRead(t, movieFiles(t, dir)[0])
	want := movieWant()
	want[1] = nil
	movieCompare(t, got, want)
}

// So is what looks like a codec that has a form, and has none: parameters that the library
// behind the files does not know, or that are broken.
func TestMovieLeavesOutParametersWithoutAForm(t *testing.T) {
	for name, c := range map[string]struct {
		kind   flv.TagType
		config string
		left   int // the track that is recorded
	}{
		"FLAC of 2 bits a sample":         {flv.TagAudio, "\x90fLaC" + "\x10\x00\x10\x00\x00\x00\x00\x00\x00\x00\x0b\xb8\x02\x10", 0},
		"a broken sequence parameter set": {flv.TagVideo, "\x17\x00\x00\x00\x00\x01\x64\x00\x0d\xff\xe1\x00\x06\x67\x64\x00\x0d\xff\xff\x01\x00\x05\x68\xcb\x83\xcb\x20", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
			src := movieClip(5, 0)
			for i := range src.batches {
				for k := range src.batches[i] {
					if tag := &src.batches[i][k]; tag.Type == c.kind && tag.Body[1] == 0 {
						tag.Body = c.config
					}
				}
			}
			if err := r.Record(context.Background(), "live/s", src); err != nil {
				t.Fatal(err)
			}
			files := movieFiles(t, dir)
			if len(files) != 1 {
				t.Fatalf("files %q", files)
			}
			got, _ := movieRead(t, files[0])
			if len(got[c.left]) < 200 || len(got[1-c.left]) > 0 {
				t.Errorf("%d pictures and %d frames of sound", len(got[0]), len(got[1]))
			}
		})
	}
}

// Sound that comes behind a picture of many bytes belongs into the same file.
func TestMovieWithALargeFirstPicture(t *testing.T) {
	r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
	src := movieClip(1, 0)
	want := movieWant()
	for _, batch := range src.batches {
		tag := &batch[0]
		if tag.Type == flv.TagVideo && tag.Body[0] == 0x17 && tag.Body[1] == 1 {
			tag.Body += "\x00\x60\x00\x01\x0c" + strings.Repeat("\xff", 0x60_0000) // filler
			break
		}
	}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	files := movieFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	if got, _ := movieRead(t, files[0]); len(got[0]) != len(want[0]) || len(got[1]) != len(want[1]) {
		t.Errorf("%d pictures and %d frames of sound, want %d and %d", len(got[0]), len(got[1]), len(want[0]), len(want[1]))
	}
}

func TestMovieAfterAJump(t *testing.T) {
	r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
	src := movieClip(5, 0)
	n := len(src.batches)
	again := movieClip(5, 3_600_000)
	src.batches = append(src.batches, again.batches...)
	src.dropped = map[int]int{n + 3: 8}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	files := movieFiles(t, dir)
	if len(files) != 2 || r.Stats().Dropped < 8 {
		t.Fatalf("files %q, %+v", files, r.Stats())
	}
}

// Sound that comes when the first fragment has waited for it long enough has no place in the
// file that begins then: it is in the next one, with the pictures.
func TestMovieWhoseSoundComesLate(t *testing.T) {
	for late := range uint32(40) {
		r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
		src := movieClip(1, 0)
		src.batches = slices.DeleteFunc(src.batches, func(b []recTag) bool {
			return b[0].Type == flv.TagAudio && b[0].Body[1] == 1 && b[0].Time < 1980+late
		})
		if err := r.Record(context.Background(), "live/s", src); err != nil {
			t.Fatal(err)
		}
		var sum [2]int
		for _, name := range movieFiles(t, dir) {
			got, _ := movieRead(t, name)
			sum[0], sum[1] = sum[0]+len(got[0]), sum[1]+len(got[1])
		}
		if sum[0] != len(movieWant()[0]) || sum[1] == 0 {
			t.Errorf("%d pictures and %d frames of sound, want %d pictures", sum[0], sum[1], len(movieWant()[0]))
		}
	}
}

// Sound that the metadata names is waited for, as long as for one that has a sequence header: pictures that come
// once a second made a file of their own.
func TestMovieWaitsForSoundThatTheMetadataNames(t *testing.T) {
	meta, err := flv.AppendScript(nil, "onMetaData", amf0.ECMAArray{{Name: "audiocodecid", Value: 10.0}})
	if err != nil {
		t.Fatal(err)
	}
	var config, key, aac, sound recTag
	for _, batch := range slices.Backward(movieClip(1, 0).batches) {
		switch tag := batch[0]; {
		case tag.Type == flv.TagAudio && tag.Body[1] == 0:
			aac = tag
		case tag.Type == flv.TagAudio:
			sound = tag
		case tag.Type == flv.TagVideo && tag.Body[1] == 0:
			config = tag
		case tag.Type == flv.TagVideo && tag.Body[0] == 0x17 && tag.Body[1] == 1:
			key = tag
		}
	}
	at := func(tag recTag, at uint32) recTag { tag.Time = at; return tag }
	for late, files := range map[uint32]int{1: 1, 2: 1, 3: 2} { // in the batch of which second it comes
		src := &recSource{batches: [][]recTag{{{flv.TagScript, 0, string(meta)}, at(config, 0), at(key, 0)}}}
		for n := uint32(1); n < 6; n++ {
			var tags []recTag
			if n == late {
				tags = append(tags, at(aac, n*1000-100))
			}
			if n >= late {
				tags = append(tags, at(sound, n*1000-100))
			}
			src.batches = append(src.batches, append(tags, at(key, n*1000)))
		}
		r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
		if err := r.Record(t.Context(), "live/s", src); err != nil {
			t.Fatal(err)
		}
		if got := movieFiles(t, dir); len(got) != files {
			t.Errorf("sound in second %d: %d files, want %d", late, len(got), files)
		}
	}
}

// Sound may be seconds before or behind pictures: that is no jump.
func TestMovieOfTracksThatAreApart(t *testing.T) {
	for _, apart := range []uint32{3000, 1<<32 - 3000} {
		r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
		src := movieClip(1, 20_000)
		want := [2]int{}
		for _, batch := range src.batches {
			if batch[0].Type == flv.TagAudio {
				batch[0].Time += apart
			}
		}
		for i, list := range movieWant() {
			want[i] = len(list)
		}
		if err := r.Record(context.Background(), "live/s", src); err != nil {
			t.Fatal(err)
		}
		files := movieFiles(t, dir)
		if len(files) != 1 {
			t.Fatalf("%d files", len(files))
		}
		got, _ := movieRead(t, files[0])
		between := got[1][0].at - got[0][0].at
		if d := (between - time.Duration(int32(apart))*time.Millisecond).Abs(); len(got[0]) != want[0] || len(got[1]) != want[1] || d > 100*time.Millisecond {
			t.Errorf("%d pictures and %d frames of sound %v behind them, want %d, %d and %v", len(got[0]), len(got[1]), between, want[0], want[1], time.Duration(int32(apart))*time.Millisecond)
		}
	}
}

// brokenFile writes so many bytes, then fails.
type brokenFile struct {
	File
	left int
}

var errBroken = errors.New("no space left")

func (b *brokenFile) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	k, err := b.File.Write(p[:n])
	if err == nil && n < len(p) {
		err = errBroken
	}
	return k, err
}

func TestMovieOnAFullDiskIsWhole(t *testing.T) {
	r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
	create := r.create
	r.create = func(name string) (File, error) {
		f, err := create(name)
		return &brokenFile{f, 150_000}, err
	}
	if err := r.Record(context.Background(), "live/s", movieClip(5, 0)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	name := movieFiles(t, dir)[0]
	info, _ := os.Stat(name)
	if _, x := movieRead(t, name); x.End != info.Size() || len(x.Fragments) == 0 {
		t.Errorf("%d of %d bytes are whole, in %d fragments", x.End, info.Size(), len(x.Fragments))
	}
}

func FuzzMovie(f *testing.F) {
	f.Add(flvclip.File[:20_000])
	f.Add(flvwalk.AppendTag(nil, flvwalk.Tag{Type: 9, Data: []byte(recKey)}))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, dir := recNew(t, func(o *Options) { o.Format = MP4 })
		// Whatever a stream has, the recording ends by itself and what is written is whole.
		if err := r.Record(context.Background(), "live/s", &rawSource{p}); err != nil {
			return
		}
		for _, name := range movieFiles(t, dir) {
			q, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if x, err := mp4.Scan(bytes.NewReader(q), int64(len(q))); err != nil || x.End != int64(len(q)) {
				t.Fatalf("%d of %d bytes: %v", x.End, len(q), err)
			}
		}
	})
}

// rawSource gives bytes as they are.
type rawSource struct{ p []byte }

func (s *rawSource) Next(context.Context) ([]byte, int, error) {
	if len(s.p) == 0 {
		return nil, 0, errors.New("the end")
	}
	p := s.p
	s.p = nil
	return p, 0, nil
}
