package record

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
)

// clipFrom is the time of day at the clip's first key frame.
var clipFrom = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clipFiles records the clip as if it came at its own pace.
func clipFiles(t *testing.T, segment time.Duration) (files []mp4.File) {
	t.Helper()
	r, dir := recNew(t, func(o *Options) { o.Format, o.Segment = MP4, segment })
	src := movieClip(1, 0)
	first := uint32(0)
	for _, b := range src.batches {
		if b[0].Type == 9 && b[0].Body[1] == 1 && b[0].Body[0]>>4 == 1 {
			first = b[0].Time
			break
		}
	}
	now := clipFrom
	r.now = func() time.Time { return now }
	src.before = func(n int) {
		if n < len(src.batches) {
			now = clipFrom.Add(time.Duration(int32(src.batches[n][0].Time-first)) * time.Millisecond)
		}
	}
	if err := r.Record(context.Background(), "live/s", src); err != nil {
		t.Fatal(err)
	}
	for _, name := range movieFiles(t, dir) {
		p, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		x, err := mp4.Scan(bytes.NewReader(p), int64(len(p)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, mp4.File{ReaderAt: bytes.NewReader(p), Index: x})
	}
	return files
}

func TestClipHasWhatWasBetweenItsTimes(t *testing.T) {
	want := movieWant()
	for _, segment := range []time.Duration{0, time.Second} {
		files := clipFiles(t, segment)
		if segment > 0 && len(files) < 3 {
			t.Fatalf("%d files", len(files))
		}
		for _, c := range []struct{ from, to time.Duration }{
			{-time.Hour, time.Hour}, {0, 100 * time.Millisecond}, {3300 * time.Millisecond, 5500 * time.Millisecond}, {7 * time.Second, 9 * time.Second},
			{1999 * time.Millisecond, 2001 * time.Millisecond}, {9 * time.Second, time.Hour},
		} {
			clip, err := mp4.NewClip(files, clipFrom.Add(c.from), clipFrom.Add(c.to))
			if err != nil {
				t.Fatalf("%v: %v", c, err)
			}
			var b bytes.Buffer
			if n, err := clip.WriteTo(&b); err != nil || n != clip.Size || int64(b.Len()) != clip.Size {
				t.Fatalf("%v: %d bytes of %d: %v", c, n, clip.Size, err)
			}
			name := filepath.Join(t.TempDir(), "clip.mp4")
			if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			got, x := movieRead(t, name)
			if x.End != clip.Size {
				t.Errorf("%v: %d of %d bytes are whole", c, x.End, clip.Size)
			}
			var key time.Duration
			for _, s := range want[0] {
				if s.key && s.at <= max(c.from, 0) {
					key = s.at
				}
			}
			if d := clip.From.Sub(clipFrom.Add(key)); d.Abs() > 2*time.Millisecond {
				t.Errorf("%v begins %v from the key frame before it", c, d)
			}
			var pictures []movieSample
			for _, s := range want[0] {
				if s.at >= key && s.at < c.to {
					s.at -= key
					pictures = append(pictures, s)
				}
			}
			if len(got[0]) != len(pictures) {
				t.Fatalf("%v: %d pictures, want %d", c, len(got[0]), len(pictures))
			}
			lead := got[0][0].at
			for i, s := range got[0] {
				if d := s.at - lead - pictures[i].at; s.crc != pictures[i].crc || s.key != pictures[i].key || d.Abs() > 2*time.Millisecond {
					t.Fatalf("%v: picture %d: %+v, want %+v", c, i, s, pictures[i])
				}
			}
			// Sound stays beside the pictures.
			known := map[uint32]time.Duration{}
			for _, s := range want[1] {
				known[s.crc] = s.at
			}
			for i, s := range got[1] {
				if d := s.at - lead - (known[s.crc] - key); d.Abs() > 4*time.Millisecond {
					t.Fatalf("%v: sound %d is %v from its place", c, i, d)
				}
			}
			if c.to > 2*time.Second && c.from < 8*time.Second && len(got[1]) == 0 {
				t.Errorf("%v: no sound", c)
			}
		}
		for _, c := range []struct{ from, to time.Duration }{{-time.Hour, -time.Minute}, {time.Hour, 2 * time.Hour}} {
			if _, err := mp4.NewClip(files, clipFrom.Add(c.from), clipFrom.Add(c.to)); !errors.Is(err, mp4.ErrNothing) {
				t.Errorf("%v: %v", c, err)
			}
		}
	}
}

// What is read of a hostile file stays within its bytes.
func FuzzScan(f *testing.F) {
	r, err := New(Options{Dir: f.TempDir(), Format: MP4})
	if err != nil {
		f.Fatal(err)
	}
	if err := r.Record(context.Background(), "live/s", movieClip(5, 0)); err != nil {
		f.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(r.options.Dir, "*", "*.mp4"))
	p, err := os.ReadFile(files[0])
	if err != nil {
		f.Fatal(err)
	}
	x, err := mp4.Scan(bytes.NewReader(p), int64(len(p)))
	if err != nil {
		f.Fatal(err)
	}
	small := []mp4.Run{{Track: 1, Base: 90, Samples: []mp4.Sample{{Size: 3, Duration: 3000, Key: true}, {Size: 2, Duration: 3000, Offset: -1}}}, {Track: 2, Base: 5, Samples: []mp4.Sample{{Size: 1, Duration: 1024, Key: true}}}}
	p = bytes.Clone(x.Header)
	f.Add(p)
	for i := range 3 {
		p = append(mp4.AppendFragment(p, uint32(i), clipFrom, small), "abcdef"...)
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		x, err := mp4.Scan(bytes.NewReader(p), int64(len(p)))
		if err != nil && len(x.Fragments) == 0 {
			return
		}
		if x.End > int64(len(p)) {
			t.Fatalf("%d bytes of %d", x.End, len(p))
		}
		mp4.Extent(bytes.NewReader(p), int64(len(p)))
		clip, err := mp4.NewClip([]mp4.File{{ReaderAt: bytes.NewReader(p), Index: x}}, x.Begin(), x.Begin().Add(time.Second))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if n, err := clip.WriteTo(&b); err != nil || n != clip.Size {
			t.Fatalf("%d of %d bytes: %v", n, clip.Size, err)
		}
	})
}
