package web

import (
	"log/slog"
	"strings"
	"testing"
)

// What net/http says has one text in the log, and its own in an attribute.
func TestLinesOfNetHTTPHaveOneText(t *testing.T) {
	var out strings.Builder
	d := debugLog{slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if _, err := d.Write([]byte("http: TLS handshake error from 192.0.2.7:5000: EOF\n")); err != nil {
		t.Fatal(err)
	}
	if want := `msg=http message="TLS handshake error from 192.0.2.7:5000: EOF"`; !strings.Contains(out.String(), want) {
		t.Errorf("%s does not have %s", out.String(), want)
	}
}
