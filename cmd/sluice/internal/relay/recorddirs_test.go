package relay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
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
			t.Skipf("no symbolic links can be made here: %v", err)
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
		err := r.prepare(&settings)
		if err == nil {
			r.show(&settings)
		}
		switch {
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

// A reload may go to a directory that lies in an earlier one, or around it, and back. Lists have
// the files of one of them, by one name. One that fails shows nothing of its directory.
func TestDirectoriesOfEarlierConfigurations(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := startRelay(t, func(c *relayConfig) { c.Record, c.APIToken = filepath.Join(root, "a/b"), recordingsToken })
	reload := func(dir string, change func(*config.Config) error) error {
		c := *s.host.Config()
		c.Record = filepath.Join(root, dir)
		if change != nil {
			if err := change(&c); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := s.Reload(c)
		return err
	}
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)...)
	recorded(t, filepath.Join(root, "a/b"), "live/s", 1)
	shown := func(want ...string) {
		t.Helper()
		var dirs []string
		for _, d := range s.outbound.recorders.shown {
			rel, err := filepath.Rel(root, d.path)
			if err != nil {
				t.Fatal(err)
			}
			dirs = append(dirs, rel)
		}
		if !slices.Equal(dirs, want) {
			t.Errorf("lists show %q, want %q", dirs, want)
		}
	}
	if err := os.Symlink(filepath.Join(root, "none/x"), filepath.Join(root, "link")); err != nil {
		t.Skipf("no symbolic links can be made here: %v", err)
	}
	file := filepath.Join(root, "sluice.yaml")
	sectionFile(t, file, "streams:\n  live/*: {record: "+filepath.Join(root, "link")+"}\n")
	if err := reload("a/b/fails", func(c *config.Config) error { return c.ReadFile(file) }); err == nil || !strings.Contains(err.Error(), "sluice.yaml:2:12: record: ") {
		t.Errorf("a directory that cannot be made: %v", err)
	}
	shown("a/b")
	for _, step := range []struct {
		dir  string
		want []string
	}{{"c", []string{"a/b", "c"}}, {"a", []string{"c", "a"}}, {"a/b/x", []string{"c", "a/b/x"}}, {"a/b", []string{"c", "a/b"}}} {
		if err := reload(step.dir, nil); err != nil {
			t.Fatalf("%s: %v", step.dir, err)
		}
		shown(step.want...)
		relayEventually(t, "a file in "+step.dir, func() bool {
			files, _ := filepath.Glob(filepath.Join(root, step.dir, "live/s-*.flv"))
			return slices.ContainsFunc(files, s.outbound.recorders.writing)
		})
	}
}
