package edge

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A client that asks for one name after the other does not fill the log.
func TestPullsThatFailInTheLog(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/live/none") {
			http.NotFound(w, r)
			return
		}
		http.Error(w, "broken", http.StatusInternalServerError)
	}))
	defer server.Close()
	log := new(bytes.Buffer)
	p := newPuller(t, server.URL, &local{}, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	for i := range 2 * maxLines {
		if err := pull(t, p, fmt.Sprintf("live/none%d", i)); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		if err := pull(t, p, fmt.Sprintf("live/s%d", i)); err == nil || errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
	p.Close()
	if n := strings.Count(log.String(), "\n"); n != maxLines || strings.Contains(log.String(), "live/none") {
		t.Errorf("%d lines, want %d:\n%s", n, maxLines, log)
	}
}
