package record

import (
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
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
// with a dot, and each has only letters, digits and "-_.=": "=" and two hexadecimal
// digits stand for any other byte, so that StreamOf finds the name again.
func base(stream string) string {
	parts := strings.SplitN(strings.Trim(stream, "/"), "/", maxParts)
	for i, part := range parts {
		parts[i] = sanitise(part)
	}
	return path.Join(parts...)
}

// Directory returns the one that a stream's files are in, in the directory of the
// recorder and with slashes.
func Directory(stream string) string { return path.Dir(base(stream)) }

// cutMark ends a part that was too long, and is in no other.
const cutMark = "=="

// sanitise converts a part of a stream's name into a safe file name.
func sanitise(part string) string {
	if part == "" {
		return "_"
	}
	var s strings.Builder
	for i := 0; i < len(part); {
		c, n := utf8.DecodeRuneInString(part[i:])
		one := part[i : i+n]
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_.", c) || c == utf8.RuneError || c == '.' && i == 0 {
			one = ""
			for _, b := range []byte(part[i : i+n]) {
				one += fmt.Sprintf("=%02X", b)
			}
		}
		if s.Len()+len(one) > maxPart-len(cutMark) {
			s.WriteString(cutMark)
			break
		}
		s.WriteString(one)
		i += n
	}
	return s.String()
}

// fileName is the last part of a file's path: the stream, when it began, its number if
// there were others then, and the format.
var fileName = regexp.MustCompile(`^(.+)-(\d{8}-\d{6})(?:-\d{1,4})?\.(flv|mp4)$`)

// StreamOf returns the stream that a file, by its path in the directory of a recorder,
// with slashes, is a recording of, and when it began, to the second. It reports false
// for other files, and when the stream's name was too long for a file's.
func StreamOf(file string) (stream string, began time.Time, ok bool) {
	dir, last := path.Split(file)
	m := fileName.FindStringSubmatch(last)
	if m == nil {
		return "", time.Time{}, false
	}
	began, err := time.ParseInLocation(stamp, m[2], time.Local)
	if err != nil {
		return "", time.Time{}, false
	}
	var name strings.Builder
	for rest := dir + m[1]; rest != ""; {
		before, after, escaped := strings.Cut(rest, "=")
		name.WriteString(before)
		if !escaped {
			break
		}
		if len(after) < 2 {
			return "", time.Time{}, false
		}
		b, err := hex.DecodeString(after[:2])
		if err != nil {
			return "", time.Time{}, false
		}
		name.Write(b)
		rest = after[2:]
	}
	stream = name.String()
	// Only what base makes of a name stands for it.
	return stream, began, base(stream) == dir+m[1]
}
