package wire

import (
	"bytes"
	"fmt"
)

// mostLine bounds a line, or the head of a reply of HTTP, in bytes.
const mostLine = 64 << 10

// pieces are what has come of a line that is not whole.
type pieces []byte

// until returns the line up to a delimiter, borrowed until the next call, and nil while it is not
// whole. n is how many bytes of p belong to it and to the delimiter.
func (s *pieces) until(p []byte, delimiter string) (line []byte, n int, err error) {
	had, line := len(*s), p
	if had > 0 {
		*s = append(*s, p...)
		line = *s
	}
	from := max(0, had-len(delimiter)+1)
	at := bytes.Index(line[from:], []byte(delimiter))
	switch {
	case at >= 0:
		*s = (*s)[:0]
		return line[: from+at : from+at], from + at + len(delimiter) - had, nil
	case len(line) > mostLine:
		return nil, 0, fmt.Errorf("%w: a line of more than %d bytes", ErrReply, mostLine)
	case had == 0:
		*s = append(*s, p...)
	}
	return nil, len(p), nil
}
