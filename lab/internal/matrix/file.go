package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Bounds of a File.
const (
	maxFile     = 64 << 20 // bytes
	maxLayers   = 16
	maxRounds   = 1000
	leastCell   = 50 * time.Millisecond
	longestCell = time.Hour
)

// Save writes f to a file of that name, which is replaced at once when all of it
// is written, so that it is never half a file.
func (f *File) Save(name string) error {
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	err = f.Write(temp)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}

// Write writes f as JSON.
func (f *File) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(f)
}

// Check finds what everything else relies on, in a file that was read: that no number is
// negative is for its reader to check.
func (f *File) Check() error {
	switch {
	case f.Kind != Kind:
		return fmt.Errorf("it is a %q", f.Kind)
	case f.Schema != Schema:
		return fmt.Errorf("version %d, this program reads %d", f.Schema, Schema)
	case len(f.Layers) < 1 || len(f.Layers) > maxLayers:
		return fmt.Errorf("%d layers", len(f.Layers))
	case len(f.Figures) < 1 || len(f.Figures) > 32:
		return fmt.Errorf("%d figures", len(f.Figures))
	case f.Repeats < 1 || f.Repeats > maxRounds:
		return fmt.Errorf("%d rounds", f.Repeats)
	case f.CellTime < leastCell || f.CellTime > longestCell:
		return fmt.Errorf("cells of %v", f.CellTime)
	}
	if err := distinct("layer", f.Layers, func(s string) string { return s }); err != nil {
		return err
	}
	if err := distinct("figure", f.Figures, func(g Figure) string { return g.Name }); err != nil {
		return err
	}
	if !slices.ContainsFunc(f.Figures, func(g Figure) bool { return g.Name == f.NoiseOf }) {
		return fmt.Errorf("the noise is that of %q, which is no figure of the grid", f.NoiseOf)
	}
	if err := errors.Join(f.Rows.check(), f.Columns.check()); err != nil {
		return err
	}
	if len(f.Cells) < 1 {
		return errors.New("no cells")
	}
	seen := map[[3]int]bool{}
	for i := range f.Cells {
		c := &f.Cells[i]
		at := [3]int{c.Layer, c.Row, c.Column}
		if c.Layer < 0 || c.Layer >= len(f.Layers) || c.Row < 0 || c.Row >= len(f.Rows.Values) || c.Column < 0 || c.Column >= len(f.Columns.Values) {
			return fmt.Errorf("cell %v is not in the grid", at)
		}
		if seen[at] {
			return fmt.Errorf("cell %v is there twice", at)
		}
		seen[at] = true
		if err := f.checkRuns(c.Runs); err != nil {
			return fmt.Errorf("cell %v: %w", at, err)
		}
	}
	for _, k := range f.Knees {
		if k.Layer < 0 || k.Layer >= len(f.Layers) || k.Column < 0 || k.Column >= len(f.Columns.Values) || k.Row != nil && (*k.Row < 0 || *k.Row >= len(f.Rows.Values)) {
			return fmt.Errorf("the knee %q is not in the grid", k.Label)
		}
	}
	return nil
}

func (f *File) checkRuns(runs []Run) error {
	known := map[string]bool{}
	for _, g := range f.Figures {
		known[g.Name] = true
	}
	rounds := map[int]bool{}
	for _, r := range runs {
		switch {
		case r.Round < 1 || r.Round > f.Repeats:
			return fmt.Errorf("round %d of %d", r.Round, f.Repeats)
		case rounds[r.Round]:
			return fmt.Errorf("round %d is there twice", r.Round)
		case r.Place < 1 || r.Place > len(f.Cells):
			return fmt.Errorf("place %d of %d", r.Place, len(f.Cells))
		case r.Valid && r.Reason != "":
			return errors.New("a valid run has a reason not to be")
		case r.Valid && r.Behind:
			return errors.New("a valid run is behind")
		}
		rounds[r.Round] = true
		for name := range r.Figures {
			switch {
			case !known[name]:
				return fmt.Errorf("a run has %q, which is no figure of the grid", name)
			case !r.Valid && name != Throughput && name != IOPS:
				return fmt.Errorf("an invalid run has %s", name)
			}
		}
	}
	return nil
}

func (a *Axis) check() error {
	if len(a.Values) < 1 || len(a.Values) > maxValues || len(a.Labels) != len(a.Values) {
		return fmt.Errorf("axis %q has %d values and %d labels", a.Name, len(a.Values), len(a.Labels))
	}
	return distinct("value of axis "+a.Name, a.Values, func(v float64) float64 { return v })
}

// distinct refuses what is there twice.
func distinct[T any, K comparable](what string, list []T, key func(T) K) error {
	seen := map[K]bool{}
	for _, v := range list {
		if seen[key(v)] {
			return fmt.Errorf("%s %v is there twice", what, key(v))
		}
		seen[key(v)] = true
	}
	return nil
}
