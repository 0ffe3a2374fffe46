package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// writable reports why the file of a flag cannot be written, without touching what is in it, and leaves
// none behind that was not there. Standard output can.
func writable(flag, path string) error {
	if path == "" || path == "-" {
		return nil
	}
	_, err := os.Stat(path)
	isNew := errors.Is(err, os.ErrNotExist)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
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
