package relay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// A directory that has several names has one recorder. One in another is refused: in the outer
// one's list its files would be those of other streams, which may not be protected.
func TestDirectoriesOfRecordings(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "one/inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"same": "one", "in": "one/inner"} {
		if err := os.Symlink(filepath.Join(root, to), filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	t.Chdir(root)
	for _, c := range []struct {
		first, second string
		places        int
	}{
		{"one", "one", 1}, {"one", "./one/", 1}, {"one", root + "/one", 1}, {"same", "one", 1}, {"one/inner", "in", 1},
		{"one", "one-more", 2}, {"one/inner", "one/other", 2}, {"two", "..two", 2},
		{"one", "one/inner", 0}, {"one/inner", "one", 0}, {"one", "in", 0}, {"same/inner", "one", 0}, {".", "one", 0}, {"one", "new/..", 0},
	} {
		file := filepath.Join(t.TempDir(), "sluice.yaml")
		sectionFile(t, file, "record: "+c.first+"\nstreams:\n  live/*: {record: "+c.second+"}\n")
		settings := config.Default()
		if err := settings.ReadFile(file); err != nil {
			t.Fatal(err)
		}
		r := &recorders{of: settings.For}
		switch err := r.prepare(&settings); {
		case c.places == 0:
			if !errors.Is(err, errNested) || !strings.Contains(err.Error(), "sluice.yaml:3:12: record: ") {
				t.Errorf("%s, %s: %v", c.first, c.second, err)
			}
		case err != nil || len(r.all()) != c.places || len(r.list()) != c.places:
			t.Errorf("%s, %s: %d archives, %d recorders, %v", c.first, c.second, len(r.all()), len(r.list()), err)
		case r.byPath[r.want("live/s")] == nil || r.byPath[r.want("x/s")] == nil || (r.want("live/s") == r.want("x/s")) != (c.places == 1):
			t.Errorf("%s, %s: live/s is recorded in %q, x/s in %q", c.first, c.second, r.want("live/s"), r.want("x/s"))
		}
		// The same again opens nothing.
		if err := r.prepare(&settings); (err == nil) != (c.places > 0) || c.places > 0 && len(r.all()) != c.places {
			t.Errorf("%s, %s, again: %d archives, %v", c.first, c.second, len(r.all()), err)
		}
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
