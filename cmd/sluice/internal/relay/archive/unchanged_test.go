package archive

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
)

// The films of a directory of 10,000 cost 0.1 s of a processor, for each request of a viewer who goes back: they are
// listed again when it has changed, also when its time does not show that yet, and after a minute.
func TestADirectoryThatHasNotChangedIsNotReadAgain(t *testing.T) {
	a, r, dir := newArchive(t, record.MP4)
	passed, wall := time.Duration(0), time.Now()
	a.now = func() time.Time { return wall }
	a.elapsed = func() time.Duration { return passed }
	recordClip(t, r, "live/a")
	stands := time.Now().Add(-time.Hour).Truncate(time.Second)
	still := func(at time.Time) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(dir, "live"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	var latest uintptr
	look := func(n int, read bool, what string) {
		t.Helper()
		films, err := a.directory("live")
		if err != nil || len(films) != n {
			t.Fatalf("%s: films of %d streams: %v", what, len(films), err)
		}
		at := reflect.ValueOf(films).Pointer()
		if again := at != latest; again != read {
			t.Errorf("%s: it was read again: %v", what, again)
		}
		latest = at
	}
	still(stands)
	look(1, true, "at first")
	for range 3 {
		look(1, false, "unchanged")
	}
	recordClip(t, r, "live/b")
	info, err := os.Stat(filepath.Join(dir, "live"))
	if err != nil {
		t.Fatal(err)
	}
	wall = info.ModTime().Add(time.Second)
	look(2, true, "changed")
	recordClip(t, r, "live/c")
	still(info.ModTime())
	look(3, true, "changed within a step of the clock")
	still(stands)
	look(3, true, "it has another time")
	passed += 59 * time.Second
	look(3, false, "a minute is not over")
	passed += time.Second
	look(3, true, "a minute is over")
	for _, name := range []string{"a", "b", "c"} {
		if _, ok := a.Since("live/" + name); !ok {
			t.Errorf("it is not known since when there is live/%s", name)
		}
	}
}
