package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/lab/internal/report"
)

// An output is a form of the results that goes to a file, or to standard
// output when its path is "-".
type output struct {
	flag  string
	path  string
	write func(*report.File, io.Writer) error
}

// outputs lists what the flags ask for, after making sure that each file can
// be written: it would be a pity to learn of a misspelt directory after a quarter of an hour.
// A report that was not asked for by name is left out where it cannot be
// written.
func (a App) outputs(f *benchFlags) ([]output, error) {
	all := []output{
		{"json", f.json, (*report.File).Save},
		{"benchstat", f.text, (*report.File).WriteBenchstat},
		{"html", f.page, (*report.File).WriteHTML},
		{"cpuprofile", f.cpuProfile, nil},
		{"memprofile", f.memProfile, nil},
	}
	var list []output
	taken := map[string]string{}
	for _, o := range all {
		if o.path == "" {
			continue
		}
		if o.path == "-" && o.write == nil {
			return nil, fmt.Errorf("bench: --%s needs the name of a file", o.flag)
		}
		if other, twice := taken[filepath.Clean(o.path)]; twice {
			return nil, fmt.Errorf("bench: --%s and --%s name the same file", other, o.flag)
		}
		taken[filepath.Clean(o.path)] = o.flag
		if o.path != "-" {
			if err := writable(o.path); err != nil {
				if o.flag == "html" && !f.given("html") {
					fmt.Fprintf(a.Stderr, "lab: no report here: %v\n", err)
					continue
				}
				return nil, fmt.Errorf("bench: --%s: %w", o.flag, err)
			}
		}
		if o.write != nil {
			list = append(list, o)
		}
	}
	return list, nil
}

// writable opens the file for writing without touching what is in it, and
// leaves none behind that was not there.
func writable(path string) error {
	_, err := os.Stat(path)
	isNew := errors.Is(err, os.ErrNotExist)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = file.Close()
	if isNew {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// put writes one form. A file is complete or, if that fails, removed.
func (a App) put(o output, results *report.File) error {
	if o.path == "-" {
		return o.write(results, a.Stdout)
	}
	file, err := os.Create(o.path)
	if err != nil {
		return err
	}
	err = o.write(results, file)
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(o.path)
	}
	return err
}
