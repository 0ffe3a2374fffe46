package push

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/rtmp"
)

// What a target says of its key, with or without the query, is in no text.
func TestErrorsDoNotShowTheKey(t *testing.T) {
	for _, address := range []string{"rtmp://h.example/app/hunter2?auth=swordfish", "srt://h.example:9000?streamid=hunter2&passphrase=swordfish12"} {
		target, err := NewTarget("live/*", address, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		q := &pushing{target: target, name: target.key}
		for _, says := range []string{"no stream hunter2", "app/hunter2?auth=swordfish is taken", "wrong swordfish12", "wrong auth=swordfish", "for hunter2 " + strings.Repeat("x", 400)} {
			if target.srt == nil && strings.Contains(says, "swordfish12") || target.srt != nil && strings.Contains(says, "auth=") {
				continue
			}
			q.set(Refused, &rtmp.StatusError{Code: "NetStream.Publish.BadName", Description: says})
			if text := q.now().Error; text == "" || strings.Contains(text, "hunter2") || strings.Contains(text, "swordfish") {
				t.Errorf("%s: %q", address, text)
			}
		}
		q.set(Waiting, errors.New("connection refused"))
		if text := q.now().Error; text != "connection refused" {
			t.Errorf("%q", text)
		}
	}
}
