package diagnose

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// One strlen for each text that is copied then is no fault, and may be most of the time: the copying finds the text in the
// cache. Shares are those of texts of 1,000 and 16,000 bytes, and of pieces that strlen appends to 4 KiB.
func TestTextsThatAreCopiedMayBeScannedOnce(t *testing.T) {
	for _, c := range []struct {
		scan, copy float64
		where      string
		found      bool
	}{{0.77, 0.19, "main.lex", false}, {0.68, 0.27, "main.lex", false}, {0.89, 0.07, "main.lex", true}, {0.77, 0.19, "main.other", true}} {
		p := profile(c.scan, "__strlen_avx2", "main.lex")
		p.Stacks = append(p.Stacks, profile(c.copy, "__memmove_avx_unaligned_erms", c.where).Stacks[0])
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Perf: p, Calls: &evidence.Calls{}, Sharing: &evidence.Sharing{}}
		findings, open := Diagnose(e)
		if f, found := First(findings); found != c.found || found && f.Rule != "scanned-again" {
			t.Errorf("%+v: %+v", c, f)
		}
		if undecided := len(open) == 1 && open[0].Rule == "scanned-again"; undecided == c.found {
			t.Errorf("%+v: open are %+v", c, open)
		}
	}
}
