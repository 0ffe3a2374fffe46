package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// Significant is the score from which on a finding is thought to be worth
// mending before anything else. Workloads without a known fault stay below it.
const Significant = 0.2

// faint is the score below which a rule keeps silent.
const faint = 0.03

// A rule knows one fault.
type rule struct {
	name string
	// look returns what it found, without Rule; nothing was found when Score is 0.
	look func(*sight) Finding
}

// rules are all rules. Of two with one score the earlier stands first, so that
// causes come before what follows from them.
var rules = []rule{
	{"flush-per-write", flushPerWrite},
	{"lock-over-io", lockOverIO},
	{"shared-line", sharedLine},
	{"small-writes", smallWrites},
	{"small-buffer", smallBuffer},
	{"allocations", allocations},
	{"small-reads", smallReads},
	{"lock-contention", lockContention},
	{"fsync", syncedFiles},
	{"empty-polls", emptyPolls},
	{"gc", collections},
	{"sleeping", sleeping},
	{"switches", switches},
	{"syscalls", manyCalls},
	{"run-queue", runQueue},
}

// Rules returns the names of all rules. The slice is the caller's own.
func Rules() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// Diagnose ranks what the evidence says, what costs most first. It returns at
// least a line for each tool that saw something.
func Diagnose(e *evidence.Evidence) []Finding {
	s := newSight(e)
	findings := []Finding{}
	for _, r := range rules {
		f := r.look(s)
		if !(f.Score >= faint) || math.IsInf(f.Score, 0) { // not a number is no score
			continue
		}
		f.Rule = r.name
		f.Score, f.Share = min(f.Score, 1), min(max(f.Share, 0), 1)
		findings = append(findings, f)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(b.Score, a.Score) })
	return append(findings, s.plain()...)
}

// First returns the finding that is worth mending first, if there is one.
func First(findings []Finding) (f Finding, ok bool) {
	if len(findings) == 0 || findings[0].Rule == "" || findings[0].Score < Significant {
		return Finding{}, false
	}
	return findings[0], true
}
