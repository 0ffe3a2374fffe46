package relay

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// errNested: the outer directory's list would have the inner one's files, by other names of
// streams, to which other rules apply.
var errNested = errors.New("one of two directories of recordings lies in the other: take one beside it")

// recordDirs returns the directories of recordings that a configuration names.
func recordDirs(c *config.Config) []config.SectionValue {
	var dirs []config.SectionValue
	if c.Record != "" {
		dirs = append(dirs, config.SectionValue{Text: c.Record, Place: c.Place("record")})
	}
	for _, s := range c.Sections() {
		for _, v := range s.Values {
			if v.Name == "record" && v.Text != "" {
				dirs = append(dirs, v)
			}
		}
	}
	return dirs
}

// apart is errNested when one of others lies in path, or path in one of them. All are without
// symbolic links.
func apart(path string, others []string) error {
	for _, other := range others {
		if other != path && (liesIn(path, other) || liesIn(other, path)) {
			return fmt.Errorf("%s and %s: %w", path, other, errNested)
		}
	}
	return nil
}

// resolved returns a directory's path without symbolic links, as it is when what is not there has
// been made.
func resolved(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	for rest := ""; ; path = filepath.Dir(path) {
		at, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(at, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return "", err
		}
		rest = filepath.Join(filepath.Base(path), rest)
	}
}

func liesIn(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
