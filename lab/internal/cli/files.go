package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/lab/internal/report"
)

// An output is a form of the results of bench that goes to a file, or to standard
// output when its path is "-".
type output struct {
	flag  string
	path  string
	write func(*report.File, io.Writer) error
}

// outputs lists what the flags ask for, after making sure that each file can
// be written, and not only at the end of the run. A report that was not asked for by name is
// left out where it cannot be written.
func (a App) outputs(f *benchFlags) ([]output, error) {
	var list []output
	taken := map[string]string{}
	for _, o := range []output{
		{"json", f.json, (*report.File).Save},
		{"benchstat", f.text, (*report.File).WriteBenchstat},
		{"html", f.page, (*report.File).WriteHTML},
	} {
		if o.path == "" {
			continue
		}
		if other, twice := taken[filepath.Clean(o.path)]; twice {
			return nil, fmt.Errorf("bench: --%s and --%s name the same file", other, o.flag)
		}
		taken[filepath.Clean(o.path)] = o.flag
		if err := writable(o.path); err != nil {
			if o.flag == "html" && !f.given("html") {
				fmt.Fprintf(a.Stderr, "lab: no report here: %v\n", err)
				continue
			}
			return nil, fmt.Errorf("bench: --%s: %w", o.flag, err)
		}
		list = append(list, o)
	}
	return list, nil
}

// writable reports why a file cannot be written, without touching what is in it, and leaves
// none behind that was not there. Standard output can.
func writable(path string) error {
	if path == "" || path == "-" {
		return nil
	}
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

// put writes a form of a result to a file, complete or not at all, or to standard output for
// the path -.
func (a App) put(path string, form func(io.Writer) error) error {
	if path == "-" {
		return form(a.Stdout)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	info, statErr := file.Stat()
	if err = errors.Join(form(file), file.Close()); err != nil && statErr == nil && info.Mode().IsRegular() {
		os.Remove(path)
	}
	return err
}

// putJSON writes a result as JSON where --json says, if it does.
func (a App) putJSON(path string, result any) error {
	if path == "" {
		return nil
	}
	err := a.put(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", " ")
		return encoder.Encode(result)
	})
	if err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	return nil
}

// people is where to print for people: elsewhere when standard output has the JSON.
func (a App) people(json string) io.Writer {
	if json == "-" {
		return a.Stderr
	}
	return a.Stdout
}
