//go:build linux

package realtest

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/soak"
)

// soaking is for as long as SLUICE_SOAK says, and watches a sink.
func soaking(t *testing.T) kills {
	length := soak.Length(t)
	end := time.Now().Add(length)
	w := soak.Begin(t, length, -1) // none yet
	return kills{watch: w, more: func(kills int) bool {
		if time.Now().Before(end) {
			return true
		}
		t.Logf("%d kills in %v", kills, length)
		w.End()
		return false
	}}
}

func TestSoakSync(t *testing.T) {
	t.Parallel()
	killSync(t, random(t), soaking(t))
}

func TestSoakRaft(t *testing.T) {
	t.Parallel()
	killRaft(t, random(t), soaking(t))
}
