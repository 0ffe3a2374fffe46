package archive

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/pattern"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
)

// Recordings of streams with the longest names are listed, played, clipped and deleted as
// others are.
func TestRecordingsOfLongNames(t *testing.T) {
	a, r, _ := newArchive(t, record.MP4)
	long := "live/" + strings.Repeat("(", pattern.MaxName-6)
	recordClip(t, r, long+"a", long+"b")
	for _, stream := range []string{long + "a", long + "b"} {
		list, all, err := a.List(stream, 10)
		if err != nil || all != 1 || list[0].Stream != stream || list[0].Length < 9*time.Second {
			t.Fatalf("%+v of %d: %v", list, all, err)
		}
		f, _, err := a.Open(list[0].File)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		c, err := a.Clip(stream, time.Now().Add(-time.Minute), time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		tape, err := a.Tape(stream, time.Now().Add(-time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		tape.Close()
	}
	if files, _, err := a.Sweep(Limits{Size: 1}); files != 2 || err != nil {
		t.Errorf("%d files are deleted: %v", files, err)
	}
}

// With more files than a list may have, those beyond the limits are deleted all the same, and a
// stream with files in another directory has its list.
func TestManyFilesAreDeleted(t *testing.T) {
	a, r, _ := newArchive(t, record.MP4)
	recordClip(t, r, "live/a", "live/b", "live/c", "other/d")
	a.most = 2
	if list, _, err := a.List("", 10); err == nil {
		t.Errorf("%+v", list)
	}
	if list, _, err := a.List("other/d", 10); err != nil || len(list) != 1 {
		t.Errorf("%+v: %v", list, err)
	}
	if files, _, err := a.Sweep(Limits{Size: 1}); files != 4 || err != nil {
		t.Errorf("%d files are deleted: %v", files, err)
	}
	if list, _, err := a.List("", 10); err != nil || len(list) != 0 {
		t.Errorf("%+v: %v", list, err)
	}
}
