package rtpmedia

import "strings"

// maxCuts bounds the lines that parameters are cut into: each copies those before it.
const maxCuts = 256

// A medium is what a description says of one.
type medium struct {
	kind       string
	formats    []string
	attributes []attribute
}

type attribute struct{ name, value string }

// readMedia reads the media of a description (RFC 8866), one more than MaxTracks at most.
// It takes what cameras send: lines in any order, of any type, and media of any kind. A line
// without a type is the rest of the parameters before it, which some senders cut.
func readMedia(p []byte) (media []medium) {
	cut := func(r rune) bool { return r == '\r' || r == '\n' || r == 0 }
	var open *string // the parameters that may go on
	cuts := 0        // in the description
	for line := range strings.FieldsFuncSeq(string(p), cut) {
		typed := len(line) > 1 && line[1] == '=' && 'a' <= line[0] && line[0] <= 'z'
		if !typed {
			if open != nil && cuts < maxCuts {
				*open += line
				cuts++
			}
			continue
		}
		open = nil
		switch value := line[2:]; line[0] {
		case 'm':
			if len(media) > MaxTracks {
				return media
			}
			var m medium
			const before = 3 // the kind, a port and a protocol
			if fields := strings.Fields(value); len(fields) > 0 {
				m.kind, m.formats = fields[0], fields[min(len(fields), before):]
			}
			media = append(media, m)
		case 'a':
			if len(media) == 0 {
				continue
			}
			m := &media[len(media)-1]
			name, value, _ := strings.Cut(value, ":")
			m.attributes = append(m.attributes, attribute{name, value})
			if name == "fmtp" {
				open = &m.attributes[len(m.attributes)-1].value
			}
		}
	}
	return media
}

// attribute returns the value of the first attribute of that name.
func (m *medium) attribute(name string) string {
	for _, a := range m.attributes {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// of returns what the first attribute of that name says of a format.
func (m *medium) of(name, format string) string {
	for _, a := range m.attributes {
		if first, rest, ok := strings.Cut(a.value, " "); a.name == name && ok && first == format {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
