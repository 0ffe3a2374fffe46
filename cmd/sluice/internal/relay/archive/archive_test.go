package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// clipSource gives the clip, and then waits for ctx if it is held.
type clipSource struct {
	done bool
	held chan struct{} // closed when everything was taken; nil: it ends then
}

func (s *clipSource) Next(ctx context.Context) ([]byte, int, error) {
	if !s.done {
		s.done = true
		return flvclip.File, 0, nil
	}
	if s.held == nil {
		return nil, 0, io.EOF
	}
	close(s.held)
	<-ctx.Done()
	return nil, 0, ctx.Err()
}

func newArchive(t *testing.T, format record.Format) (*Archive, *record.Recorder, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := record.New(record.Options{Dir: dir, Format: format, Index: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return New(r.Root, r.Open), r, dir
}

func recordClip(t *testing.T, r *record.Recorder, streams ...string) {
	t.Helper()
	for _, stream := range streams {
		if err := r.Record(context.Background(), stream, &clipSource{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRecordingsAreListed(t *testing.T) {
	for _, format := range []record.Format{record.FLV, record.MP4} {
		a, r, dir := newArchive(t, format)
		recordClip(t, r, "live/a", "live/a+b", "live/a")
		// Files of others are not ours.
		for _, name := range []string{"notes.txt", "live/x.flv", "live/.y-20260102-030405.flv", "live/z-20260102-030405.mkv"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/etc/passwd", filepath.Join(dir, "live", "s-20260102-030405."+string(format))); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time from memory
			list, all, err := a.List("", 2)
			if err != nil || all != 3 || len(list) != 2 {
				t.Fatalf("%d of %d: %v", len(list), all, err)
			}
			list, all, err = a.List("live/a", 10)
			if err != nil || all != 2 || len(list) != 2 {
				t.Fatalf("%d of %d: %v", len(list), all, err)
			}
			if list[0].changed.Before(list[1].changed) {
				t.Errorf("the oldest comes first: %+v", list)
			}
			for _, x := range list {
				if x.Length < 9900*time.Millisecond || x.Length > 10200*time.Millisecond || x.Size < 100_000 || time.Since(x.Begin).Abs() > time.Minute || x.Writing || x.Stream != "live/a" {
					t.Errorf("%+v", x)
				}
				f, one, err := a.Open(x.File)
				if err != nil || one.Stream != "live/a" || one.Size != x.Size {
					t.Fatalf("%+v: %v", one, err)
				}
				f.Close()
			}
		}
	}
}

func TestOnlyRecordingsAreOpenedAndDeleted(t *testing.T) {
	a, r, dir := newArchive(t, record.MP4)
	recordClip(t, r, "live/a")
	outside := filepath.Join(t.TempDir(), "s-20260102-030405.mp4")
	for _, name := range []string{outside, filepath.Join(dir, "live", "x.mp4")} {
		if err := os.WriteFile(name, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"live/link-20260102-030405.mp4": outside, "out": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "live", "d-20260102-030405.mp4"), 0o755); err != nil {
		t.Fatal(err)
	}
	hostile := []string{
		"", ".", "..", "/", "live", "live/x.mp4", "live/link-20260102-030405.mp4", "out/s-20260102-030405.mp4", "live/d-20260102-030405.mp4", outside,
		"../" + filepath.Base(filepath.Dir(outside)) + "/s-20260102-030405.mp4", "live/../live/a-20260102-030405.mp4", "live//a-20260102-030405.mp4", "live/a-20260102-030405.mp4\x00",
		`live\a-20260102-030405.mp4`, strings.Repeat("a/", 1000) + "a-20260102-030405.mp4", strings.Repeat("a", 5000) + "-20260102-030405.mp4",
	}
	for _, name := range hostile {
		if f, _, err := a.Open(name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%.60q is opened: %v", name, err)
			if f != nil {
				f.Close()
			}
		}
		if err := a.Delete(name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%.60q is deleted: %v", name, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	list, _, err := a.List("", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := a.Delete(list[0].File); err != nil {
		t.Error(err)
	}
	if _, _, err := a.Open(list[0].File); !errors.Is(err, ErrNotFound) {
		t.Error("a deleted recording is opened")
	}
}

func TestWhatIsKept(t *testing.T) {
	a, r, dir := newArchive(t, record.MP4)
	recordClip(t, r, "live/a", "live/b", "live/c", "live/d")
	src := &clipSource{held: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- r.Record(ctx, "live/now", src) }()
	<-src.held
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(filepath.Join(dir, "live", "notes.txt"), make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	age := func(stream string, age time.Duration) {
		list, _, _ := a.List(stream, 1)
		old := filepath.Join(dir, list[0].File)
		began := time.Now().Add(-age)
		name := filepath.Join(dir, "live", filepath.Base(stream)+"-"+began.Format("20060102-150405")+".mp4")
		if err := errors.Join(os.Chtimes(old, began, began), os.Rename(old, name)); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range []string{"live/a", "live/b", "live/c", "live/d"} {
		age(s, time.Duration(4-i)*time.Hour)
	}
	left := func() (names []string) {
		list, _, err := a.List("", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			names = append(names, r.Stream)
		}
		slices.Sort(names)
		return names
	}
	sweep := func(l Limits, want ...string) {
		t.Helper()
		if _, _, err := a.Sweep(l); err != nil {
			t.Error(err)
		}
		if got := left(); !slices.Equal(got, want) {
			t.Errorf("%+v leaves %q, want %q", l, got, want)
		}
	}
	size, _, err := a.List("live/d", 1)
	if err != nil {
		t.Fatal(err)
	}
	one := size[0].Size
	sweep(Limits{Age: time.Minute}, "live/a", "live/b", "live/c", "live/d", "live/now") // it may be a wrong clock's
	a.elapsed = func() time.Duration { return time.Hour }
	a.ages.seen = nil
	sweep(Limits{Age: 5 * time.Hour}, "live/a", "live/b", "live/c", "live/d", "live/now")
	a.ages.first -= settling
	sweep(Limits{}, "live/a", "live/b", "live/c", "live/d", "live/now")
	sweep(Limits{Age: 5 * time.Hour, Size: 10 * one}, "live/a", "live/b", "live/c", "live/d", "live/now")
	sweep(Limits{Age: 3*time.Hour + 30*time.Minute}, "live/b", "live/c", "live/d", "live/now")
	sweep(Limits{Size: 3*one + one/2}, "live/c", "live/d", "live/now")
	// What is written now is not deleted, however little is kept.
	sweep(Limits{Size: 1}, "live/now")
	if _, err := os.Stat(filepath.Join(dir, "live", "notes.txt")); err != nil {
		t.Error(err)
	}
	list, _, _ := a.List("live/now", 1)
	if err := a.Delete(list[0].File); !errors.Is(err, ErrWriting) || !list[0].Writing || list[0].Length == 0 {
		t.Errorf("%+v: %v", list[0], err)
	}
}

// A clip is made of a file that is being written, and of more of it later.
func TestClipOfWhatIsBeingWritten(t *testing.T) {
	a, r, _ := newArchive(t, record.MP4)
	src := &clipSource{held: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- r.Record(ctx, "live/s", src) }()
	<-src.held
	clip := func() int64 {
		c, err := a.Clip("live/s", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		n, err := c.WriteTo(io.Discard)
		if err != nil || n != c.Size {
			t.Errorf("%d of %d bytes: %v", n, c.Size, err)
		}
		return n
	}
	first := clip()
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if second := clip(); second <= first {
		t.Errorf("%d bytes, then %d", first, second)
	}
	for _, stream := range []string{"live/other", "live/s*", "../s"} {
		if _, err := a.Clip(stream, time.Now().Add(-time.Hour), time.Now()); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", stream, err)
		}
	}
	if _, err := a.Clip("live/s", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// Of files that cannot be read, of which there may be any number, a clip holds none open.
func TestClipHoldsNoFilesThatCannotBeRead(t *testing.T) {
	a, r, dir := newArchive(t, record.MP4)
	recordClip(t, r, "live/s")
	for i := range 3 {
		name := time.Now().Add(time.Duration(i-5) * time.Minute).Format("20060102-150405")
		if err := os.WriteFile(filepath.Join(dir, "live", "s-"+name+".mp4"), []byte("cut off"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := a.Clip("live/s", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.files) != 1 {
		t.Errorf("it holds %d files", len(c.files))
	}
	c.Close()
	if _, err := c.files[0].Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a file of a closed clip: %v", err)
	}
}

func TestWhatIsKnownIsBounded(t *testing.T) {
	a, _, _ := newArchive(t, record.MP4)
	for i := range maxKnown + 100 {
		a.remember(fmt.Sprint(i), &known{})
	}
	if len(a.known) > maxKnown {
		t.Errorf("%d are known", len(a.known))
	}
}

// A recording that ends while it is looked at is listed as one that is being written, or with
// all that it has.
func TestRecordingThatEndsMeanwhile(t *testing.T) {
	a, _, dir := newArchive(t, record.FLV)
	const file = "live/s-20260102-030405.flv"
	name := filepath.Join(dir, filepath.FromSlash(file))
	whole := int64(len(flvclip.File))
	for what, look := range map[string]func() Recording{
		"in the list": func() Recording {
			list, _, err := a.List("", 10)
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			return list[0]
		},
		"opened": func() Recording {
			f, r, err := a.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			return r
		},
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, flvclip.File[:1000], 0o644); err != nil {
			t.Fatal(err)
		}
		a.writing = func(string) bool { // the rest comes just before it is asked
			if err := os.WriteFile(name, flvclip.File, 0o644); err != nil {
				t.Fatal(err)
			}
			return false
		}
		if r := look(); !r.Writing && r.Size != whole {
			t.Errorf("%s: it has ended with %d bytes of %d", what, r.Size, whole)
		}
	}
}
