package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// put writes a form of a result to a file, or to standard output for the path -. It is complete or not
// there at all: it is written beside the file, whose contents it takes the place of when it is whole.
func (a App) put(path string, form func(io.Writer) error) error {
	if path == "-" {
		return form(a.Stdout)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	before, err := os.Stat(path)
	if err == nil && !before.Mode().IsRegular() { // a device or a pipe
		return write(path, os.O_WRONLY, form)
	}
	beside := fmt.Sprintf("%s.%d.part", path, os.Getpid())
	written := write(beside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, form)
	defer os.Remove(beside) // unless it was renamed
	if written != nil && !errors.Is(written, fs.ErrPermission) {
		return written
	}
	if err == nil && written == nil {
		written = os.Chmod(beside, before.Mode().Perm())
	}
	if written == nil && os.Rename(beside, path) == nil {
		return nil
	}
	// A directory that takes no file, or a file that is mounted.
	if err = write(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, form); err != nil {
		os.Remove(path)
	}
	return err
}

func write(path string, flags int, form func(io.Writer) error) error {
	file, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(form(file), file.Close())
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
