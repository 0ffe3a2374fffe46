package rewind

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// began is when what the tests record begins, by their clock.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// recorded is a recorder's directory, and its archive.
type recorded struct {
	*archive.Archive
	*record.Recorder
	dir   string
	clock *atomic.Int64 // Unix ns
}

func newRecorded(t *testing.T) recorded {
	t.Helper()
	r := recorded{dir: t.TempDir(), clock: &atomic.Int64{}}
	r.clock.Store(began.UnixNano())
	var err error
	r.Recorder, err = record.New(record.Options{
		Dir: r.dir, Format: record.MP4, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(0, r.clock.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Recorder.Close() })
	r.Archive = archive.New(r.Root, r.Recorder.Open)
	return r
}

// A playing gives the recorder tags one by one, and has the clock follow their times.
type playing struct {
	recorded
	tags  []byte
	zero  time.Time
	more  chan []byte // nil: it ends with the tags
	taken chan struct{}
}

func (r recorded) play(tags []byte) *playing {
	return &playing{recorded: r, tags: tags, zero: time.Unix(0, r.clock.Load())}
}

func (s *playing) Next(ctx context.Context) ([]byte, int, error) {
	if len(s.tags) == 0 {
		if s.more == nil {
			return nil, 0, io.EOF
		}
		s.taken <- struct{}{}
		p, ok := <-s.more
		if !ok {
			return nil, 0, io.EOF
		}
		s.tags = p
	}
	if bytes.HasPrefix(s.tags, []byte("FLV")) {
		s.tags = s.tags[flv.HeaderLen+flv.PrevTagSizeLen:]
	}
	h, err := flv.ParseTagHeader(s.tags)
	if err != nil {
		return nil, 0, err
	}
	if now := s.zero.Add(time.Duration(h.Time) * time.Millisecond).UnixNano(); now > s.clock.Load() {
		s.clock.Store(now)
	}
	n := flv.TagHeaderLen + h.Size + flv.PrevTagSizeLen
	p := s.tags[:n]
	s.tags = s.tags[n:]
	return p, 0, nil
}

// write records tags as a stream.
func (r recorded) write(t *testing.T, tags []byte) {
	t.Helper()
	if err := r.Record(context.Background(), "live/s", r.play(tags)); err != nil {
		t.Fatal(err)
	}
}

// pass has time pass.
func (r recorded) pass(d time.Duration) { r.clock.Add(int64(d)) }

// A frame is a tag of media without its time.
type frame struct {
	kind flv.TagType
	body string
}

// media returns the frames of tags, and their times; configurations are left out.
func media(t *testing.T, p []byte) (list []frame, times []uint32) {
	t.Helper()
	var split au.Splitter
	for tag := range au.Tags(p) {
		if _, ok, err := split.Split(tag.Type, tag.Time, tag.Body); err != nil {
			t.Fatal(err)
		} else if ok {
			list, times = append(list, frame{tag.Type, string(tag.Body)}), append(times, tag.Time)
		}
	}
	return list, times
}

// all reads what there is.
func all(t *testing.T, r *Reader) (p []byte) {
	t.Helper()
	for {
		tags, at, err := r.Next()
		p = append(p, tags...)
		if errors.Is(err, archive.ErrNothingYet) {
			return p
		}
		if err != nil {
			t.Fatal(err)
		}
		last := at
		for tag := range au.Tags(tags) {
			last = time.Duration(tag.Time) * time.Millisecond
		}
		if last != at {
			t.Fatalf("the last tag is of %v, not %v", last, at)
		}
	}
}

// cut returns the clip's tags before a time, and those from it on; configurations are in
// front of both.
func cut(at uint32) (before, after []byte) {
	var head []byte
	var split au.Splitter
	for p := flvclip.File[flv.HeaderLen+flv.PrevTagSizeLen:]; len(p) > 0; {
		h, err := flv.ParseTagHeader(p)
		if err != nil {
			panic(err)
		}
		n := flv.TagHeaderLen + h.Size + flv.PrevTagSizeLen
		_, ok, _ := split.Split(h.Type, h.Time, p[flv.TagHeaderLen:flv.TagHeaderLen+h.Size])
		switch {
		case !ok:
			head = append(head, p[:n]...)
		case h.Time < at:
			before = append(before, p[:n]...)
		default:
			after = append(after, p[:n]...)
		}
		p = p[n:]
	}
	return append(bytes.Clone(head), before...), append(bytes.Clone(head), after...)
}

// byKind compares frames of each kind: tracks may be interleaved otherwise.
func byKind(t *testing.T, got, want []frame) {
	t.Helper()
	for _, kind := range []flv.TagType{flv.TagVideo, flv.TagAudio} {
		of := func(list []frame) (some []string) {
			for _, f := range list {
				if f.kind == kind {
					some = append(some, f.body)
				}
			}
			return some
		}
		g, w := of(got), of(want)
		if len(g) != len(w) {
			t.Errorf("kind %d: %d frames, want %d", kind, len(g), len(w))
			continue
		}
		for i := range g {
			if g[i] != w[i] {
				t.Errorf("kind %d: frame %d is another one", kind, i)
				break
			}
		}
	}
}

func rising(t *testing.T, times []uint32, most uint32) {
	t.Helper()
	for i := 1; i < len(times); i++ {
		if times[i] < times[i-1] || times[i]-times[i-1] > most {
			t.Fatalf("time %d is %d, after %d", i, times[i], times[i-1])
		}
	}
}

func (r recorded) reader(t *testing.T, from time.Time) *Reader {
	t.Helper()
	tape, err := r.Tape("live/s", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.Close)
	return NewReader(tape)
}

// What is read is what was recorded: every byte, at the times of the stream, with its
// configurations, from the first key frame on.
func TestWhatWasRecordedIsRead(t *testing.T) {
	r := newRecorded(t)
	r.write(t, flvclip.File)
	p := all(t, r.reader(t, began))
	if !bytes.HasPrefix(p, []byte("FLV\x01\x05")) {
		t.Fatalf("the header is %x", p[:min(len(p), 13)])
	}
	got, times := media(t, p)
	want, wantTimes := media(t, flvclip.File)
	for want[0].kind != flv.TagVideo {
		want, wantTimes = want[1:], wantTimes[1:]
	}
	byKind(t, got, want)
	rising(t, times, 1000)
	if span, all := times[len(times)-1]-times[0], wantTimes[len(wantTimes)-1]-wantTimes[0]; max(span, all)-min(span, all) > 2 {
		t.Errorf("%d ms, want %d", span, all)
	}
	// What decoders have to know is there.
	var split au.Splitter
	for tag := range au.Tags(p) {
		split.Split(tag.Type, tag.Time, tag.Body)
	}
	if v, a := split.Configs(); v == nil || a == nil {
		t.Error("a configuration is missing")
	}
}

// Each time begins with the key frame at or before it.
func TestReadingBeginsAtTheKeyFrameBefore(t *testing.T) {
	r := newRecorded(t)
	r.write(t, flvclip.File)
	first := r.reader(t, began)
	whole, _ := media(t, all(t, first))
	begin := first.From()
	for _, after := range []time.Duration{0, 3 * time.Second, 7500 * time.Millisecond} {
		one := r.reader(t, begin.Add(after))
		got, times := media(t, all(t, one))
		if early := begin.Add(after).Sub(one.From()); early < 0 || early > 3*time.Second {
			t.Errorf("from %v on it begins %v earlier", after, early)
		}
		if h, err := flv.ParseVideo([]byte(got[0].body)); err != nil || !h.Key() || times[0] != 0 {
			t.Errorf("it does not begin with a key frame at 0: %v", err)
		}
		byKind(t, got, lastOf(whole, got))
	}
	if _, err := r.Tape("live/s", began.Add(time.Hour)); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("after the recording: %v", err)
	}
	for _, stream := range []string{"live/other", "../live/s", "live/../s", "", "live/s-2"} {
		if _, err := r.Tape(stream, began); !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("%q: %v", stream, err)
		}
	}
}

// lastOf are as many frames of each kind as some has, the last ones.
func lastOf(list, some []frame) (out []frame) {
	n := map[flv.TagType]int{}
	for _, f := range some {
		n[f.kind]++
	}
	for i := len(list) - 1; i >= 0; i-- {
		if f := list[i]; n[f.kind] > 0 {
			n[f.kind]--
			out = append([]frame{f}, out...)
		}
	}
	return out
}

// Over several files, with gaps between them, everything comes once, and times only rise.
func TestGapsAreClosedUp(t *testing.T) {
	r := newRecorded(t)
	before, after := cut(4000)
	r.write(t, before)
	r.pass(2 * time.Hour)
	r.write(t, after)
	r.pass(time.Hour)
	r.write(t, flvclip.File)
	got, times := media(t, all(t, r.reader(t, began)))
	want, _ := media(t, flvclip.File)
	if len(got) < 3*len(want)/2 {
		t.Errorf("%d frames of three files", len(got))
	}
	rising(t, times, uint32((maxGap+time.Second)/time.Millisecond))
	if last := times[len(times)-1]; last < 15_000 || last > 25_000 {
		t.Errorf("it ends at %d ms", last)
	}
}

// Where a recording begins with one track, and the next file soon has the other too, the header names both.
func TestHeaderNamesATrackThatComesSoon(t *testing.T) {
	for name, late := range map[string]flv.TagType{"sound": flv.TagAudio, "pictures": flv.TagVideo} {
		for _, pause := range []time.Duration{0, time.Minute} {
			r := newRecorded(t)
			var alone []byte
			for tag := range au.Tags(flvclip.File[flv.HeaderLen+flv.PrevTagSizeLen:]) {
				if tag.Type != late && tag.Type != flv.TagScript && tag.Time < 2500 {
					alone = append(flv.TagHeader{Type: tag.Type, Size: len(tag.Body), Time: tag.Time}.Append(alone), tag.Body...)
					alone = binary.BigEndian.AppendUint32(alone, uint32(flv.TagHeaderLen+len(tag.Body)))
				}
			}
			r.write(t, alone)
			r.pass(pause)
			r.write(t, flvclip.File)
			p := all(t, r.reader(t, began))
			h, _, err := flv.ParseHeader(p)
			if err != nil || (h.Video && h.Audio) != (pause == 0) {
				t.Errorf("%s, %v later: %+v, %v", name, pause, h, err)
			}
			kinds := map[flv.TagType]int{}
			for tag := range au.Tags(p[flv.HeaderLen+flv.PrevTagSizeLen:]) {
				kinds[tag.Type]++
				if kinds[flv.TagVideo]+kinds[flv.TagAudio] == 2 && (kinds[late] == 1) != (pause == 0) {
					t.Errorf("%s, %v later: it begins with %v", name, pause, kinds)
				}
			}
		}
	}
}

// Reading goes on in a file that is being written, and in the one after it.
func TestReadingFollowsTheRecorder(t *testing.T) {
	r := newRecorded(t)
	before, after := cut(5000)
	src := r.play(before)
	src.more, src.taken = make(chan []byte), make(chan struct{}, 2)
	ended := make(chan error)
	go func() { ended <- r.Record(context.Background(), "live/s", src) }()
	<-src.taken
	one := r.reader(t, began)
	p := all(t, one)
	first, _ := media(t, p)
	if len(first) < 50 {
		t.Fatalf("%d frames of a file that is being written", len(first))
	}
	src.more <- after
	<-src.taken
	close(src.more)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	p = append(p, all(t, one)...)
	r.write(t, flvclip.File)
	p = append(p, all(t, one)...)
	got, times := media(t, p)
	want, _ := media(t, flvclip.File)
	for want[0].kind != flv.TagVideo {
		want = want[1:]
	}
	byKind(t, got, append(want[:len(want):len(want)], want...))
	rising(t, times, 1500)
}

// A file that was cut anywhere, as by a server that was killed, is read up to its last
// whole fragment, and the next one after it.
func TestReadingAFileThatWasCut(t *testing.T) {
	r := newRecorded(t)
	r.write(t, flvclip.File)
	files, err := filepath.Glob(filepath.Join(r.dir, "live", "*.mp4"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0], info.Size()/2+100); err != nil {
		t.Fatal(err)
	}
	r.write(t, flvclip.File)
	got, times := media(t, all(t, r.reader(t, began)))
	whole, _ := media(t, flvclip.File)
	if n := len(got); n <= len(whole)+50 || n >= 2*len(whole) {
		t.Errorf("%d frames, the clip has %d", n, len(whole))
	}
	rising(t, times, 1500)
}

// Who reads a file that is deleted reads it to its end, and goes on with the next one.
func TestReadingAFileThatIsDeleted(t *testing.T) {
	r := newRecorded(t)
	r.write(t, flvclip.File)
	r.write(t, flvclip.File)
	one := r.reader(t, began)
	p, _, err := one.Next()
	if err != nil {
		t.Fatal(err)
	}
	p = bytes.Clone(p)
	list, _, err := r.List("live/s", 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d files: %v", len(list), err)
	}
	if err := r.Delete(list[1].File); err != nil {
		t.Fatal(err)
	}
	got, _ := media(t, append(p, all(t, one)...))
	whole, _ := media(t, flvclip.File)
	if len(got) < 2*len(whole)-20 {
		t.Errorf("%d frames of two clips of %d", len(got), len(whole))
	}
}
