package pattern

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the longest name of a stream, in bytes.
const MaxName = 200

// NameFault says what is wrong with the name of a stream, as the end of a sentence; it is
// empty for one of the form APP/NAME that can be published.
func NameFault(name string) string {
	switch {
	case len(name) > MaxName:
		return fmt.Sprintf("is %d bytes long, the limit is %d", len(name), MaxName)
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune(`\?#%"<>|:*`, r)
	}):
		return "has characters in it that a name may not have"
	}
	parts := strings.Split(name, "/")
	if len(parts) < 2 {
		return "is not of the form APP/NAME"
	}
	for _, part := range parts {
		if part == "" {
			return "is not of the form APP/NAME"
		}
		if part[0] == '.' {
			return "has a part that begins with a dot"
		}
	}
	// These are paths of the server's own.
	if parts[0] == "api" || parts[0] == "assets" {
		return "begins with " + parts[0] + "/"
	}
	return ""
}
