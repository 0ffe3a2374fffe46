//go:build linux

package realtest

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/soak"
	"github.com/sluice-go/sluice/sluicetest/abuse"
)

// The relay is tried by all cases again and again, for as long as SLUICE_SOAK says: with
// each round a healthy stream that is compared byte by byte.
func TestSoakRelay(t *testing.T) {
	length := soak.Length(t)
	s := serve(t, options{})
	// What the first rounds leave in pools is no growth.
	w := soak.Begin(t, length, s.PID)
	end := time.Now().Add(length)
	for round := 1; time.Now().Before(end); round++ {
		for scheme, address := range map[string]string{"rtmp": s.RTMP, "http": s.HTTP} {
			report := tries(t, scheme+"://"+address+"/live", 100, abuse.Options{})
			if !report.Passed() {
				t.Fatalf("round %d", round)
			}
		}
	}
	w.End()
}
