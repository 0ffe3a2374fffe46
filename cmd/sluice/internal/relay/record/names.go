package record

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxPart is the most bytes of a stream's name that go into one part of a
	// path: with the time and a number it stays below the 255 that file
	// systems allow.
	maxPart = 180
	// maxParts bounds the depth of directories.
	maxParts = 8
	// maxTries is how many files may have the same stream and the same second.
	maxTries = 1000
	// stamp is the layout of the time in a file's name.
	stamp = "20060102-150405"
)

// base returns the path, in the directory of the recorder and with slashes, of a
// stream's files without the time and the extension. No part is empty or begins
// with a dot, and each has only letters, digits and "-_.".
func base(stream string) string {
	parts := strings.SplitN(strings.Trim(stream, "/"), "/", maxParts)
	for i, part := range parts {
		parts[i] = sanitise(part)
	}
	return path.Join(parts...)
}

// sanitise converts a part of a stream's name into a safe file name.
func sanitise(part string) string {
	var s strings.Builder
	for _, c := range part {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_.", c) || c == utf8.RuneError {
			c = '_'
		}
		if c == '.' && s.Len() == 0 {
			c = '_'
		}
		if s.Len()+utf8.RuneLen(c) > maxPart {
			break
		}
		s.WriteRune(c)
	}
	if s.Len() == 0 {
		return "_"
	}
	return s.String()
}

// createNew calls create with the possible file names of a stream until one is
// free. It returns that name.
func createNew(stream string, now time.Time, create func(name string) (File, error)) (string, File, error) {
	stem := base(stream) + "-" + now.Format(stamp)
	name := stem + ".flv"
	for try := 2; ; try++ {
		f, err := create(name)
		if err == nil {
			return name, f, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", nil, err
		}
		if try > maxTries {
			return "", nil, fmt.Errorf("%d files of one second: %w", maxTries, err)
		}
		name = fmt.Sprintf("%s-%d.flv", stem, try)
	}
}
