package report

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

func TestWhatASearchFoundIsSaid(t *testing.T) {
	limit := load.Limit{Quantile: 0.99, Latency: 50 * time.Millisecond}
	for want, f := range map[string]load.Found{
		"P99 within 50 ms holds up to 800 requests/s":                                                              {Rate: 800, Steps: []load.Step{{Rate: 800, Holds: true}}},
		"P99 within 50 ms holds up to 800 requests/s; above that the generator was the limit: the target may":      {Rate: 800, Generator: true},
		"P99 within 50 ms holds once at 400 requests/s; the search did not come to an end":                         {Steps: []load.Step{{Rate: 400, Holds: true}, {Rate: 800}}},
		"P99 within 50 ms holds at no rate that was tried":                                                         {Steps: []load.Step{{Rate: 100}}},
		"P99 within 50 ms holds at no rate that was tried; the generator was the limit: something keeps the machi": {Steps: []load.Step{{Rate: 100}}, Generator: true},
	} {
		f.Limit = limit
		if got := FoundText(&f); !strings.HasPrefix(got, want) || !f.Generator && got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
