//go:build linux

package realtest

import (
	"os"
	"testing"
	"time"
)

// soak is for how long the tests named Soak kill, each; they are skipped without
// it.
func soak(t *testing.T) func(kills int) bool {
	text := os.Getenv("SLUICE_SINK_SOAK")
	if text == "" {
		t.Skip("SLUICE_SINK_SOAK is not set, to 10m say: make soak")
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SLUICE_SINK_SOAK: %v", err)
	}
	end := time.Now().Add(d)
	return func(kills int) bool {
		if time.Now().Before(end) {
			return true
		}
		t.Logf("%d kills in %v", kills, d)
		return false
	}
}

func TestSoakSync(t *testing.T) {
	t.Parallel()
	killSync(t, random(t), soak(t))
}

func TestSoakRaft(t *testing.T) {
	t.Parallel()
	killRaft(t, random(t), soak(t))
}
