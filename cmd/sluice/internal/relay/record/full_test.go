package record

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/flv"
)

// fullFile is a file on a disk with room for that many bytes.
type fullFile struct {
	*os.File
	room *int
}

func (f fullFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p[:min(len(p), *f.room)])
	if *f.room -= n; err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// recordFull records the clip onto a disk with that much room. It returns the files and the
// length that was said at the end.
func recordFull(t *testing.T, format Format, batch, room int) (files []string, said time.Duration) {
	t.Helper()
	r, dir := recNew(t, func(o *Options) {
		o.Format, o.Index = format, true
		o.Ended = func(_, _ string, _ int64, length time.Duration, _ string) { said = length }
	})
	create := r.create
	r.create = func(name string) (File, error) {
		f, err := create(name)
		if err != nil {
			return nil, err
		}
		return fullFile{f.(*os.File), &room}, nil
	}
	if err := r.Record(context.Background(), "live/s", movieClip(batch, 0)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("room for %d: %v", room, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files, said
}

// What a recording says of its length when the disk was full is that of what is in it.
func TestFullDiskCountsWhatIsInTheFile(t *testing.T) {
	for room := 30_000; room < 1_000_000; room += 97_003 {
		files, said := recordFull(t, FLV, 40, room)
		_, tags := recReadFile(t, files[0])
		last := time.Duration(0)
		for _, tag := range tags {
			last = max(last, time.Duration(tag.Time)*time.Millisecond)
		}
		_, values, err := flv.ParseScript([]byte(tags[0].Body))
		if err != nil {
			t.Fatal(err)
		}
		duration, _ := amf0.Object(values[0].(amf0.ECMAArray)).Get("duration")
		if seconds, ok := duration.(float64); said != last || !ok || math.Abs(seconds-last.Seconds()) > 0.0001 {
			t.Errorf("FLV, room for %d: the last frame is at %v, said are %v and, in the file, %v s", room, last, said, duration)
		}

		files, said = recordFull(t, MP4, 40, room)
		if len(files) == 0 {
			continue // not even for the first fragment
		}
		_, x := movieRead(t, files[0])
		p, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		_, inside, err := mp4.Extent(bytes.NewReader(p), int64(len(p)))
		// The index has the length of one track, which ends a little before the other.
		const little = 50 * time.Millisecond
		if err != nil || (said-x.Length()).Abs() > little || (inside-x.Length()).Abs() > little {
			t.Errorf("MP4, room for %d: %v are in the file, said are %v and, in the file, %v, %v", room, x.Length(), said, inside, err)
		}
	}
}

// A disk that takes nothing gets no files with nothing in them: recordings begin again and again.
func TestFullDiskGetsNoEmptyFiles(t *testing.T) {
	for _, format := range []Format{FLV, MP4} {
		for _, room := range []int{0, 8, 900} {
			files, _ := recordFull(t, format, 40, room)
			for _, name := range files {
				info, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				if info.Size() == 0 || strings.HasSuffix(name, ".mp4") {
					t.Errorf("room for %d: %s has %d bytes", room, filepath.Base(name), info.Size())
				}
			}
		}
	}
}
