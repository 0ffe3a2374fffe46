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

// What logs users in does nothing else; so does what checks a password with each request, but on connections that stay.
func TestHashingMayBeTheWorkOfLogins(t *testing.T) {
	for _, c := range []struct {
		part     float64
		requests evidence.Mishaps
		accusing bool
	}{
		{0.99, evidence.Mishaps{Accepted: 50, Answers: 52}, false},
		{0.99, evidence.Mishaps{Accepted: 50, Answers: 3 * 50}, false}, // over TLS
		{0.99, evidence.Mishaps{}, false},
		{0.99, evidence.Mishaps{Accepted: 5, Answers: 100}, true},
		{0.60, evidence.Mishaps{Accepted: 50, Answers: 50}, true},
	} {
		calls := &evidence.Calls{Took: time.Second, Total: 1000, Mishaps: c.requests}
		e := &evidence.Evidence{Took: time.Second, CPUTime: time.Second, Tools: all(), Calls: calls, Sharing: &evidence.Sharing{},
			Perf: profile(c.part, "yescrypt_kdf_body", "_crypt_yescrypt_rn", "crypt_r@@XCRYPT_2.0", "main.lex")}
		findings, open := Diagnose(e)
		if f, found := First(findings); found != c.accusing || found && f.Rule != "password-hashing" {
			t.Errorf("%+v: %+v", c, f)
		}
		if undecided := len(open) == 1 && open[0].Rule == "password-hashing"; undecided == c.accusing {
			t.Errorf("%+v: open are %+v", c, open)
		}
	}
}
