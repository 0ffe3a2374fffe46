package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"testing"
)

// What text escapes, JSON does, and its reader gets it as it was.
func TestLogShowsAllCharacters(t *testing.T) {
	for _, text := range []string{"plain", "live/ü世🎥", "a\u202egnp.exe", "\u2066x\u2069\u200b", "\u0085\u2028", "\U000e0041\ufeff\x7f", "\x1b[31m", "\xff"} {
		var log bytes.Buffer
		newLogger(&log, slog.LevelInfo, "json").Info(text, text, text)
		var fields map[string]any
		if err := json.Unmarshal(log.Bytes(), &fields); err != nil {
			t.Fatalf("%q: %v in %s", text, err, log.Bytes())
		}
		want := strings.ToValidUTF8(text, "\ufffd")
		if fields["msg"] != want || fields[want] != want {
			t.Errorf("%q is read as %q", text, fields["msg"])
		}
		for _, c := range strings.TrimSuffix(log.String(), "\n") {
			if !strconv.IsPrint(c) {
				t.Errorf("%q has %U in %q", text, c, log.String())
			}
		}
	}
}
