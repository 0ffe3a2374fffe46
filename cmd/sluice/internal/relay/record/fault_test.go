package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
)

// recFault is a file in memory that fails as configured.
type recFault struct {
	data       []byte
	room       int   // bytes that it takes, then err; negative: any number
	err        error // of the write that does not fit; nil: a short write without a word
	syncErr    error
	closeErr   error
	cutErr     error
	patchErr   error
	whole      bool // a write that does not fit takes nothing
	syncs      int
	closed     int
	onWrite    func()
	afterClose bool
}

func (f *recFault) Write(p []byte) (int, error) {
	if f.closed > 0 {
		f.afterClose = true
	}
	if f.onWrite != nil {
		f.onWrite()
	}
	if f.room < 0 || len(f.data)+len(p) <= f.room {
		f.data = append(f.data, p...)
		return len(p), nil
	}
	n := f.room - len(f.data)
	if f.whole {
		n = 0
	}
	f.data = append(f.data, p[:n]...)
	return n, f.err
}

func (f *recFault) WriteAt(p []byte, at int64) (int, error) {
	if f.patchErr != nil {
		return 0, f.patchErr
	}
	return copy(f.data[at:], p), nil
}

func (f *recFault) Truncate(n int64) error {
	if f.cutErr == nil {
		f.data = f.data[:n]
	}
	return f.cutErr
}

func (f *recFault) Sync() error  { f.syncs++; return f.syncErr }
func (f *recFault) Close() error { f.closed++; return f.closeErr }

// recTags returns n tags that all differ.
func recTags(n int) []recTag {
	tags := []recTag{recVideo(0, recConfig), recAudio(0, recAAC)}
	for i := range n {
		switch {
		case i%10 == 0:
			tags = append(tags, recVideo(uint32(i), recBig(recKey, 300+i)))
		case i%2 == 0:
			tags = append(tags, recVideo(uint32(i), recBig(recInter, 100+i)))
		default:
			tags = append(tags, recAudio(uint32(i), recBig(recSound, 20+i)))
		}
	}
	return tags
}

func recSplit(tags []recTag, n int) *recSource {
	src := &recSource{}
	for len(tags) > 0 {
		k := min(n, len(tags))
		src.batches = append(src.batches, tags[:k])
		tags = tags[k:]
	}
	return src
}

func TestFullDiskLeavesWholeTags(t *testing.T) {
	tags := recTags(60)
	whole := &recFault{room: -1}
	r, _ := recNew(t, nil)
	r.create = func(string) (File, error) { return whole, nil }
	if err := r.Record(context.Background(), "a/b", recSplit(tags, 7)); err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, true} {
		for room := 0; room < len(whole.data); room += 13 {
			f := &recFault{room: room, err: syscall.ENOSPC, whole: all}
			var log bytes.Buffer
			r, _ := recNew(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			r.create = func(string) (File, error) { return f, nil }
			src := recSplit(tags, 7)
			err := r.Record(context.Background(), "live/s", src)
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("room for %d: %v", room, err)
			}
			if f.closed != 1 || f.afterClose {
				t.Fatalf("room for %d: closed %d times, written to after that: %v", room, f.closed, f.afterClose)
			}
			if len(f.data) > 0 {
				if _, got := recRead(t, f.data); !tagsBegin(tags, got) {
					t.Fatalf("room for %d: %d tags that are not the first of the stream", room, len(got))
				}
			}
			if got := r.Stats(); got.Failed != 1 || got.Active != 0 || got.Bytes != int64(len(f.data)) {
				t.Fatalf("room for %d: %+v with %d bytes in the file", room, got, len(f.data))
			}
			if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "stream=live/s") || !strings.Contains(text, "no space left") {
				t.Fatalf("the log says %s", text)
			}
			if src.next >= len(src.batches) && room < len(whole.data)/2 {
				t.Fatalf("room for %d: the source was read to its end", room)
			}
		}
	}
}

func tagsBegin(all, first []recTag) bool {
	if len(first) > len(all) {
		return false
	}
	for i := range first {
		if first[i] != all[i] {
			return false
		}
	}
	return true
}

func TestShortWritesAreErrors(t *testing.T) {
	f := &recFault{room: 100}
	r, _ := recNew(t, nil)
	r.create = func(string) (File, error) { return f, nil }
	if err := r.Record(context.Background(), "a/b", recSplit(recTags(10), 1)); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	recRead(t, f.data)
}

func TestErrorsOfTheFileAreReported(t *testing.T) {
	sick := errors.New("sick")
	late := []recTag{recVideo(0, recConfig), recVideo(0, recKey)}
	for _, c := range []struct {
		name string
		file recFault
		sync time.Duration
	}{
		{"sync", recFault{room: -1, syncErr: sick}, time.Nanosecond},
		{"last sync", recFault{room: -1, syncErr: sick}, time.Hour},
		{"close", recFault{room: -1, closeErr: sick}, 0},
		{"flags", recFault{room: -1, patchErr: sick}, 0},
		{"cut off", recFault{room: 90, err: syscall.ENOSPC, cutErr: sick}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.file
			r, _ := recNew(t, func(o *Options) { o.Sync = c.sync })
			r.create = func(string) (File, error) { return &f, nil }
			src := &recSource{batches: [][]recTag{late, {recAudio(5, recAAC), recAudio(5, recBig(recSound, 200))}}}
			if err := r.Record(context.Background(), "a/b", src); !errors.Is(err, sick) {
				t.Error(err)
			}
			if f.closed != 1 {
				t.Errorf("closed %d times", f.closed)
			}
			if got := r.Stats().Failed; got != 1 {
				t.Errorf("%d failed", got)
			}
		})
	}
}

func TestSyncsNowAndThen(t *testing.T) {
	f := &recFault{room: -1}
	r, _ := recNew(t, func(o *Options) { o.Sync = time.Second })
	r.create = func(string) (File, error) { return f, nil }
	now := time.Now()
	r.now = func() time.Time { return now }
	src := recSplit(recTags(50), 1)
	src.before = func(int) { now = now.Add(100 * time.Millisecond) }
	if err := r.Record(context.Background(), "a/b", src); err != nil {
		t.Fatal(err)
	}
	if f.syncs < 4 || f.syncs > 6 {
		t.Errorf("%d syncs in 5 s, one a second was asked for", f.syncs)
	}
}

func TestFileThatCannotBeMade(t *testing.T) {
	r, _ := recNew(t, nil)
	r.create = func(string) (File, error) { return nil, os.ErrPermission }
	if err := r.Record(context.Background(), "a/b", recOne()); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
	tries := 0
	r.create = func(string) (File, error) { tries++; return nil, fmt.Errorf("there: %w", os.ErrExist) }
	if err := r.Record(context.Background(), "a/b", recOne()); !errors.Is(err, os.ErrExist) || tries != maxTries {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// A file where a directory must be is found at the first try, not after a million.
func TestFileInTheWayOfADirectory(t *testing.T) {
	r, dir := recNew(t, nil)
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tries, create := 0, r.create
	r.create = func(name string) (File, error) { tries++; return create(name) }
	if err := r.Record(context.Background(), "a/b", recOne()); !errors.Is(err, syscall.ENOTDIR) || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

func TestBrokenTagsAreErrors(t *testing.T) {
	whole := recTag{flv.TagVideo, 0, recKey + "xxxx"}.bytes()
	for _, p := range [][]byte{{0xff, 1, 2}, whole[:len(whole)-1], whole[:5], []byte("FLV")} {
		r, _ := recNew(t, nil)
		if err := r.Record(context.Background(), "a/b", recRaw{p}); err == nil {
			t.Errorf("%x is taken", p)
		}
	}
}

// recRaw gives the same bytes for ever.
type recRaw struct{ p []byte }

func (s recRaw) Next(context.Context) ([]byte, int, error) { return s.p, 0, nil }

func TestContextEndsARecording(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, dir := recNew(t, nil)
	src := recSplit(recTags(20), 1)
	src.before = func(n int) {
		if n == 10 {
			cancel()
			src.end, src.batches = context.Canceled, nil
		}
	}
	if err := r.Record(ctx, "a/b", src); err != nil {
		t.Error(err)
	}
	if _, tags := recReadFile(t, recFiles(t, dir)[0]); len(tags) != 10 {
		t.Errorf("%d tags, want 10", len(tags))
	}
}

// recNowhere is a file that forgets.
type recNowhere struct{ recFault }

func (*recNowhere) Write(p []byte) (int, error) { return len(p), nil }

func TestRecordingAllocatesNothing(t *testing.T) {
	r, _ := recNew(t, nil)
	r.create = func(string) (File, error) { return &recNowhere{}, nil }
	var p []byte
	for _, tag := range recTags(50) {
		p = append(p, tag.bytes()...)
	}
	k := &take{recorder: r, stream: "a/b", log: r.log}
	got := testing.AllocsPerRun(100, func() {
		if err := k.batch(p, 0); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations for a batch of 52 tags", got)
	}
	if err := k.end("the test is over"); err != nil {
		t.Error(err)
	}
}
