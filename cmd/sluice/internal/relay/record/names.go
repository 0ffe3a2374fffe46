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
	// maxPart is how many bytes one part of a path has at the most: with the time and a
	// number it stays below the 255 that file systems allow.
	maxPart = 180
	// maxParts bounds the depth of directories.
	maxParts = 8
	// maxPieces is how many pieces a part has at the most: those of the longest name that a
	// stream of the relay may have, with each byte escaped.
	maxPieces = 4
	// maxTries is how many files may have the same stream and the same second.
	maxTries = 1000
	// stamp is the layout of the time in a file's name.
	stamp = "20060102-150405"
)

// stampOf returns how a time stands in a file's name: by the clock of a place, but in UTC,
// with a Z, where that shows the same time twice, as when summer time ends, and it would be
// read as the other one: recordings are put in order, and found, by these times.
func stampOf(at time.Time, place *time.Location) string {
	text := at.In(place).Format(stamp)
	if read, err := readStamp(text, place); err == nil && read.Equal(at.Truncate(time.Second)) {
		return text
	}
	return at.UTC().Format(stamp) + "Z"
}

// readStamp returns the time that stampOf has written.
func readStamp(text string, place *time.Location) (time.Time, error) {
	if utc, ok := strings.CutSuffix(text, "Z"); ok {
		return time.ParseInLocation(stamp, utc, time.UTC)
	}
	return time.ParseInLocation(stamp, text, place)
}

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

// cutMark ends a piece of a part that is too long, and is in no other: what follows is in a
// directory of that name.
const cutMark = "=="

// sanitise converts a part of a stream's name into a safe file name, or into directories
// and one. It cuts what has more than maxPieces.
func sanitise(part string) string {
	if part == "" {
		return "_"
	}
	var s strings.Builder
	pieces, begin := 1, 0 // where the piece begins
	for i := 0; i < len(part); {
		c, n := utf8.DecodeRuneInString(part[i:])
		one := safe(part[i:i+n], c, s.Len() == begin)
		if s.Len()-begin+len(one) > maxPart-len(cutMark) {
			s.WriteString(cutMark)
			if pieces == maxPieces {
				break
			}
			s.WriteByte('/')
			pieces, begin = pieces+1, s.Len()
			one = safe(part[i:i+n], c, true)
		}
		s.WriteString(one)
		i += n
	}
	return s.String()
}

// safe returns how a character, c, stands in a piece. first: that begins with it.
func safe(text string, c rune, first bool) string {
	if unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_", c) || c == '.' && !first {
		return text
	}
	var s strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&s, "=%02X", b)
	}
	return s.String()
}

// fileName is the last part of a file's path: the stream, when it began, its number if
// there were others then, and the format.
var fileName = regexp.MustCompile(`^(.+)-(\d{8}-\d{6}Z?)(?:-\d{1,4})?\.(flv|mp4)$`)

// StreamOf returns the stream that a file, by its path in the directory of a recorder,
// with slashes, is a recording of, and when it began, to the second. It reports false
// for other files, and when the stream's name was longer than those of the relay may be.
func StreamOf(file string) (stream string, began time.Time, ok bool) {
	dir, last := path.Split(file)
	m := fileName.FindStringSubmatch(last)
	if m == nil {
		return "", time.Time{}, false
	}
	began, err := readStamp(m[2], time.Local)
	if err != nil {
		return "", time.Time{}, false
	}
	var name strings.Builder
	for rest := strings.ReplaceAll(dir+m[1], cutMark+"/", ""); rest != ""; {
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
