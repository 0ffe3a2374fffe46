// Package pattern has the patterns that settings choose streams by, and the rule of the
// names that streams have.
//
// A Pattern is a value that any goroutine may use.
package pattern

import (
	"errors"
	"fmt"
	"strings"
)

// Err means that a text is not a pattern.
var Err = errors.New("pattern: not a stream's name such as live/cam1, with one * at most")

// A Pattern matches names of streams: one name, or with a * all that begin and end in
// the same way. The * stands for any characters, also none and slashes.
type Pattern struct {
	prefix, suffix string
	wild           bool
}

// Parse reads a pattern. An error matches Err, also for one that no name can match.
func Parse(text string) (Pattern, error) {
	if text == "" || strings.Count(text, "*") > 1 {
		return Pattern{}, fmt.Errorf("%w: %.60q", Err, text)
	}
	if why := fault(text); why != "" {
		return Pattern{}, fmt.Errorf("%w: %.60q %s", Err, text, why)
	}
	var p Pattern
	p.prefix, p.suffix, p.wild = strings.Cut(text, "*")
	return p, nil
}

// fault says why no name matches the pattern; empty when one does.
func fault(text string) (why string) {
	for _, middle := range []string{"x", "x/x"} {
		if why = NameFault(strings.Replace(text, "*", middle, 1)); why == "" {
			return ""
		}
	}
	return why
}

// Match reports whether a name matches, and returns what the * stands for.
func (p Pattern) Match(name string) (middle string, ok bool) {
	if !p.wild {
		return "", name == p.prefix
	}
	rest, ok := strings.CutPrefix(name, p.prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, p.suffix)
}

// Example returns a name that p matches.
func (p Pattern) Example() string { return p.prefix + p.suffix }

// String returns the text that Parse has read.
func (p Pattern) String() string {
	if p.wild {
		return p.prefix + "*" + p.suffix
	}
	return p.prefix
}
