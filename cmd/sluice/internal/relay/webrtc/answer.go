package webrtc

import "strings"

// addressed returns an answer whose candidates, lines of SDP, are those given, or its own
// with none. They stand in the first medium that is not rejected: the library writes its
// own into the first of all, and clients take none from one that is (RFC 9143, section
// 7.3.1, has all in that of the group's transport).
func addressed(answer, candidates string) string {
	own := candidates == ""
	var rest []string
	at := -1 // the first attribute of the medium, in rest
	taken := false
	for line := range strings.Lines(answer) {
		switch {
		case strings.HasPrefix(line, "a=candidate:") || strings.HasPrefix(line, "a=end-of-candidates"):
			if own {
				candidates += line
			}
			continue
		case strings.HasPrefix(line, "m="):
			_, port, _ := strings.Cut(line, " ")
			taken = !strings.HasPrefix(port, "0 ")
		case taken && at < 0 && strings.HasPrefix(line, "a="):
			at = len(rest)
		}
		rest = append(rest, line)
	}
	if at < 0 {
		at = len(rest)
	}
	return strings.Join(rest[:at], "") + candidates + strings.Join(rest[at:], "")
}

// withoutGroup leaves out the group of an answer to an offer that has none.
func withoutGroup(answer string) string {
	before, line, ok := strings.Cut(answer, "a=group:")
	if !ok {
		return answer
	}
	_, after, _ := strings.Cut(line, "\n")
	return before + after
}
