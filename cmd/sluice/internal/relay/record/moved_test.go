package record

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// A directory that is deleted or moved away while the server runs gets no more files: those that
// begin later are where the setting says.
func TestDirectoryThatIsAnotherOneByNow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open directory can be neither deleted nor moved there")
	}
	r, dir := recNew(t, nil)
	record := func(want int) {
		t.Helper()
		if err := r.Record(context.Background(), "live/s", recOne()); err != nil {
			t.Fatal(err)
		}
		if files := recFiles(t, dir); len(files) != want {
			t.Errorf("files %q, want %d", files, want)
		}
	}
	record(1)
	record(2)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	record(1)
	away := dir + "-away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	record(1)
	if files, err := filepath.Glob(filepath.Join(away, "*", "*")); err != nil || len(files) != 1 {
		t.Errorf("files %q in the directory that was moved, %v", files, err)
	}
}

// That nothing can be recorded is known before the first stream is there to be.
func TestDirectoryThatMayNotBeWritten(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what refuses also root its files differs")
	}
	dir := "/sys"
	if os.Getuid() != 0 {
		dir = t.TempDir()
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := New(Options{Dir: dir}); err == nil {
		r.Close()
		t.Error("no error")
	}
	_, dir = recNew(t, nil)
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("%v is left of the question, %v", list, err)
	}
}

// A file that is deleted or moved away while it is written ends at the next key frame, with which
// another one begins: what comes would be in none.
func TestFileThatLosesItsName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file can be neither deleted nor moved there")
	}
	for name, lose := range map[string]func(dir, file string) error{
		"deleted":   func(_, file string) error { return os.Remove(file) },
		"moved":     func(dir, file string) error { return os.Rename(file, filepath.Join(dir, "elsewhere")) },
		"all moved": func(dir, _ string) error { return os.Rename(dir, dir+"-away") },
		"replaced": func(_, file string) error {
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.WriteFile(file, []byte("another"), 0o644)
		},
	} {
		for _, format := range []Format{FLV, MP4} {
			clock := time.Now()
			r, dir := recNew(t, func(o *Options) {
				o.Format = format
				o.Now = func() time.Time { return clock }
			})
			src := &clipInParts{before: func(n int) {
				clock = clock.Add(time.Second)
				if n != 4 {
					return
				}
				list, err := filepath.Glob(filepath.Join(dir, "live", "s-*"))
				if err != nil || len(list) != 1 {
					t.Fatalf("%s, %s: %q, %v", name, format, list, err)
				}
				if err := lose(dir, list[0]); err != nil {
					t.Fatal(err)
				}
			}}
			var ends []string
			r.options.Ended = func(_, _ string, _ int64, length time.Duration, why string) {
				ends = append(ends, why)
				if length < 3*time.Second {
					t.Errorf("%s, %s: a file of %v", name, format, length)
				}
			}
			if err := r.Record(context.Background(), "live/s", src); err != nil {
				t.Fatal(err)
			}
			if want := []string{lost, "the stream ended"}; !slices.Equal(ends, want) {
				t.Errorf("%s, %s: files ended because %q, want %q", name, format, ends, want)
			}
		}
	}
}

// clipInParts gives the clip a second at a time, after before.
type clipInParts struct {
	before func(n int)
	next   int
}

func (s *clipInParts) Next(context.Context) ([]byte, int, error) {
	p := flvclip.File[flv.HeaderLen+flv.PrevTagSizeLen:]
	from, to := -1, 0
	for to < len(p) {
		h, err := flv.ParseTagHeader(p[to:])
		if err != nil {
			return nil, 0, err
		}
		second := int(h.Time / 1000)
		if from < 0 && second == s.next {
			from = to
		}
		if second > s.next {
			break
		}
		to += flv.TagHeaderLen + h.Size + flv.PrevTagSizeLen
	}
	if from < 0 {
		return nil, 0, io.EOF
	}
	s.before(s.next)
	s.next++
	return p[from:to], 0, nil
}
