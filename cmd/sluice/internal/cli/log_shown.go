package cli

import (
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// shownJSON writes JSON with characters escaped that are not shown, such as those that turn the
// direction of a line round, as lines of text have them. Each Write is of whole characters.
type shownJSON struct{ io.Writer }

func (e shownJSON) Write(line []byte) (int, error) {
	var out []byte
	done := 0 // of line, in out
	for i := 0; i < len(line); {
		if line[i] < 0x7f {
			i++
			continue
		}
		c, n := utf8.DecodeRune(line[i:])
		if !strconv.IsPrint(c) {
			out = append(out, line[done:i]...)
			for _, unit := range utf16.Encode([]rune{c}) { // RFC 8259, section 7
				out = append(out, '\\', 'u')
				for shift := 12; shift >= 0; shift -= 4 {
					out = append(out, "0123456789abcdef"[unit>>shift&15])
				}
			}
			done = i + n
		}
		i += n
	}
	if done > 0 {
		if _, err := e.Writer.Write(append(out, line[done:]...)); err != nil {
			return 0, err
		}
		return len(line), nil
	}
	return e.Writer.Write(line)
}
