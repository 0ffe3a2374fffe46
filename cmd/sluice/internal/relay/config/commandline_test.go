package config

import (
	"slices"
	"strings"
	"testing"
)

func TestCommandWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          nil,
		" \t ":                      nil,
		"ffmpeg -i x":               {"ffmpeg", "-i", "x"},
		`sh -c 'exec cat "$X" \\'`:  {"sh", "-c", `exec cat "$X" \\`},
		`a "b c"d '' \  "\"\\"`:     {"a", "b cd", "", " ", `"\`},
		"a\nb":                      {"a", "b"},
		`x=${SLUICE_URL} "${A} $B"`: {"x=${SLUICE_URL}", "${A} $B"},
	} {
		if got, err := CommandWords(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`a "b`, "a 'b", `a\`} {
		if got, err := CommandWords(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzCommandWords(f *testing.F) {
	f.Add(`ffmpeg -i "${SLUICE_URL}" 'a b' \x`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := CommandWords(text)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		if again, err := CommandWords(strings.Join(quoted, " ")); err != nil || !slices.Equal(again, words) {
			t.Errorf("%q: %q, then %q, %v", text, words, again, err)
		}
	})
}
