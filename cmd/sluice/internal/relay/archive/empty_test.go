package archive

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"
)

// A directory goes with the last of its files, the root of all stays, and so does what is
// not of a recorder.
func TestEmptyDirectoriesAreDeleted(t *testing.T) {
	a, r, dir := newArchive(t, record.FLV)
	recordClip(t, r, "a/b/s", "a/s", "s", "x/s")
	if err := os.WriteFile(filepath.Join(dir, "x", "notes"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if n, _, err := a.Sweep(Limits{Size: 1}); n != 4 || err != nil {
		t.Fatalf("%d deleted: %v", n, err)
	}
	for name, there := range map[string]bool{"a/b": false, "a": false, "x/notes": true, ".": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	recordClip(t, r, "a/b/s")
}
