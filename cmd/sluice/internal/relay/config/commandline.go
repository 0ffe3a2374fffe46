package config

import (
	"errors"
	"strings"
)

// ErrCommand means that a text is not a command line.
var ErrCommand = errors.New("not a command line: a quote or a backslash has no end")

// CommandWords splits a command line into words as a shell does, and does nothing else
// of a shell: spaces separate words, '...' and "..." keep them together, a backslash
// outside '...' takes the character behind it as it is.
func CommandWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune // 0: outside quotes
	begun, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			begun, quote = true, r
		case strings.ContainsRune(" \t\r\n", r):
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, ErrCommand
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// commandLine accepts a command line, or none.
func commandLine(v *string) func() error {
	return func() error {
		_, err := CommandWords(*v)
		return err
	}
}
