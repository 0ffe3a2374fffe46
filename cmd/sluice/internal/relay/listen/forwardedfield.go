package listen

import (
	"net/http"
	"strings"
)

// forwarded returns the parameters "for" of the field Forwarded, one for each
// element, empty for one that has none (RFC 7239, section 4). ok is false when a
// line is malformed. It must not be guessed what such a line means: a quoted
// string that the client leaves open takes in what the proxy adds behind it.
func forwarded(h http.Header) (nodes []string, ok bool) {
	for _, line := range h.Values("Forwarded") {
		for rest, more := line, true; more; {
			var node string
			if node, rest, more, ok = element(rest); !ok {
				return nil, false
			}
			nodes = append(nodes, node)
		}
	}
	return nodes, true
}

// element parses one element at the beginning of text: pairs with semicolons
// between them. more reports whether a comma, and so another element, followed.
func element(text string) (node, rest string, more, ok bool) {
	seen := false
	for {
		text = strings.TrimLeft(text, " \t")
		name := text[:strings.IndexFunc(text+"=", func(r rune) bool { return strings.ContainsRune("=;,\" \t", r) })]
		text = text[len(name):]
		if name != "" {
			var value string
			if !strings.HasPrefix(text, "=") {
				return "", "", false, false
			}
			if value, text, ok = valueOf(text[1:]); !ok {
				return "", "", false, false
			}
			if strings.EqualFold(name, "for") {
				if seen {
					return "", "", false, false // at most once in an element
				}
				node, seen = value, true
			}
		}
		text = strings.TrimLeft(text, " \t")
		switch {
		case text == "":
			return node, "", false, true
		case text[0] == ',':
			return node, text[1:], true, true
		case text[0] != ';':
			return "", "", false, false
		}
		text = text[1:]
	}
}

// valueOf parses a token or a quoted string (RFC 9110, section 5.6). A token may
// have the colons and brackets of an address in it, since proxies forget quotes.
func valueOf(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		n := strings.IndexFunc(text+",", func(r rune) bool { return strings.ContainsRune(",;=\" \t", r) })
		return text[:n], text[n:], n > 0
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", false
			}
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
