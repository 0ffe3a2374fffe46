package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/machine"
)

type rule struct {
	name string
	// needs are the tools it goes by: of each group one must have seen something.
	needs [][]string
	// costs says that the fault takes processor time, or keeps the program from it, so that one that
	// uses little and waits for little cannot have it, whatever was not seen.
	costs bool
	// of are the programs that can have the fault: "", all; "go".
	of string
	// look returns what it found, without Rule; nothing was found when Score is 0. What is open is
	// why it could not be decided.
	look func(*facts) (f Finding, open string)
}

var (
	byCPU     = []string{evidence.ToolCPU, evidence.ToolPerfRecord}
	byCalls   = []string{evidence.ToolStrace}
	byWaits   = []string{evidence.ToolGoroutines, evidence.ToolTrace, evidence.ToolLocks, evidence.ToolStrace}
	bySharing = []string{evidence.ToolSharing}
	byGo      = []string{evidence.ToolGoroutines, evidence.ToolTrace}
	byKernel  = []string{evidence.ToolPerfRecord}
)

// rules are all rules. Of two with one score the earlier stands first, so that
// causes come before what follows from them.
var rules = []rule{
	{"cpu-quota", [][]string{{evidence.ToolProc}, {evidence.ToolCgroup}}, true, "", cpuQuota},
	{"no-descriptors", [][]string{byCalls}, false, "", noDescriptors},
	{"flush-per-write", [][]string{byCPU}, true, "", named(flushPerWrite)},
	{"lock-over-io", [][]string{byWaits}, false, "", lockOverIO},
	{"blocked-loop", [][]string{byCalls}, false, "", blockedLoop},
	{"shared-line", [][]string{byCPU, bySharing}, true, "", sharedLine},
	{"small-writes", [][]string{byCPU, byCalls}, true, "", smallWrites},
	{"small-buffer", [][]string{byCPU, byCalls}, true, "", smallBuffer},
	{"small-reads", [][]string{byCPU, byCalls}, true, "", smallReads},
	{"fsync", [][]string{byCalls}, false, "", fsyncPerRecord},
	{"empty-polls", [][]string{byCPU, byCalls}, true, "", emptyPolls},
	{"wide-polls", [][]string{byCPU, byCalls}, true, "", widePolls},
	{"busy-spin", [][]string{byCPU}, true, "", named(busySpin)},
	{"delayed-ack", [][]string{byCalls}, false, "", delayedAck},
	{"connection-per-request", [][]string{byCPU, byCalls}, true, "", connectionPerRequest},
	{"reopened-file", [][]string{byCPU, byCalls}, true, "", reopenedFile},
	{"timers", [][]string{byCPU}, true, "", named(spending(passing(isTimer), "timers", "setting, stopping and firing timers"))},
	{"clock", [][]string{byCPU}, true, "", spending(passing(isClock), "the clock", "reading the clock")},
	{"handoffs", [][]string{byCPU}, true, "go", spending(without(isHandoff, either(isAsking, isTimer)), "channels", "channels, and in starting and ending goroutines")},
	{"cgo-calls", [][]string{byCPU}, true, "go", spending(func(frames []evidence.Frame) bool {
		return through(frames, isCgo) && strings.HasPrefix(frames[0].Func, "runtime.")
	}, "runtime.cgocall", "going from Go to C and back, and not in C")},
	{"page-faults", [][]string{byKernel}, true, "", pageFaults},
	{"processes", [][]string{byKernel, byCalls}, true, "", processes},
	{"compiled-again", [][]string{byCPU}, true, "", named(spending(passing(isCompiling), "compiling", "compiling regular expressions and templates"))},
	{"password-hashing", [][]string{byCPU}, true, "", passwordHashing},
	{"scanned-again", [][]string{byCPU}, true, "", scannedAgain},
	{"formatting", [][]string{byCPU}, true, "", named(excessive(without(isFormatting, isWrite), "printf", "formatting and parsing texts"))},
	{"allocations", [][]string{byCPU}, true, "", named(allocations)},
	{"lock-contention", [][]string{byWaits}, false, "", lockContention},
	{"runtime-calls", [][]string{byGo}, false, "go", runtimeCalls},
	{"small-pool", [][]string{byGo}, false, "go", smallPool},
	{"sleeps", [][]string{byWaits, byCalls}, false, "", sleeps},
	{"host-names", [][]string{{evidence.ToolGoroutines, evidence.ToolTrace, evidence.ToolStrace}}, false, "", nameLookups},
	{"goroutine-leak", [][]string{byGo}, false, "go", goroutineLeak},
}

// Diagnose ranks what the evidence says, what costs most first, and lists the rules that could not be
// decided. There is at least a line for each tool that saw something.
func Diagnose(e *evidence.Evidence) (findings []Finding, open []Open) {
	f := newFacts(e)
	findings, open = []Finding{}, []Open{}
	for _, r := range rules {
		if r.of == "go" && !f.goProgram && f.Saw(evidence.ToolProc) {
			continue
		}
		if why := r.lacks(f); why != "" {
			open = append(open, Open{r.name, why})
			continue
		}
		found, why := r.look(f)
		if why != "" {
			open = append(open, Open{r.name, why})
			continue
		}
		if !(found.Score >= faint) || math.IsInf(found.Score, 0) { // not a number is no score
			continue
		}
		found.Rule = cmp.Or(found.Rule, r.name) // some find what goes by another name
		found.Try = cmp.Or(found.Try, advice[found.Rule])
		found.Score, found.Share = min(found.Score, 1), min(max(found.Share, 0), 1)
		findings = append(findings, found)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(b.Score, a.Score) })
	return append(findings, f.plain()...), open
}

// lacks says why a rule cannot be decided for want of evidence; empty when it can.
func (r *rule) lacks(f *facts) string {
	if r.costs && f.idle {
		return ""
	}
	for _, group := range r.needs {
		if last := len(group) - 1; f.goProgram && last > 0 && group[last] == evidence.ToolStrace {
			group = group[:last] // strace does not see goroutines
		}
		if !slices.ContainsFunc(group, f.Saw) {
			var why []string
			for _, tool := range group {
				if text := f.Why(tool); !strings.HasSuffix(text, "was not used") && tool != evidence.ToolLocks {
					why = append(why, text)
				}
			}
			if len(why) == 0 {
				why = append(why, strings.Join(group, " or ")+" was not used")
			}
			return strings.Join(why, "; ")
		}
		if slices.Contains(group, evidence.ToolCPU) && samples(f.cpu) < fewSamples {
			return tooFew(f.cpu)
		}
	}
	return ""
}

const (
	Kind   = "diagnosis"
	Schema = 3
)

// A Diagnosis is what was seen of a program and what it means.
type Diagnosis struct {
	machine.Origin
	Findings []Finding         `json:"findings"` // what costs most first
	Open     []Open            `json:"open"`
	Evidence evidence.Evidence `json:"evidence"`
}

// Verdict is the answer of a diagnosis as a code.
type Verdict string

const (
	Found     Verdict = "found"     // the first finding is worth mending
	Clean     Verdict = "clean"     // every rule was decided, and none found a fault
	Undecided Verdict = "undecided" // none found a fault, but some could not be decided
)

// Verdict says what the diagnosis comes to.
func (d *Diagnosis) Verdict() Verdict {
	switch _, found := First(d.Findings); {
	case found:
		return Found
	case len(d.Open) > 0:
		return Undecided
	}
	return Clean
}

const (
	// Significant is the score from which on a finding is thought to be worth
	// mending before anything else. Programs without a known fault stay below it.
	Significant = 0.2
	// faint is the score below which a rule keeps silent.
	faint = 0.03
)

// A Finding is one line of the table.
type Finding struct {
	Rule  string  `json:"rule"`  // "small-writes"; empty for a line that only reports what a tool saw
	Tool  string  `json:"tool"`  // "strace"
	Top   string  `json:"top"`   // function or event
	Share float64 `json:"share"` // 0..1, of the tool's whole
	Clue  string  `json:"clue"`  // in words
	Try   string  `json:"try,omitempty"`
	Score float64 `json:"score"` // what the order rests on: the part of the time that it is thought to cost, 0..1
}

func finding(tool, top string, share, score float64, clue string, args ...any) Finding {
	return Finding{Tool: tool, Top: top, Share: share, Score: score, Clue: fmt.Sprintf(clue, args...)}
}

// Open is a rule that could not be decided.
type Open struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// First returns the finding that is worth mending first, if there is one.
func First(findings []Finding) (f Finding, ok bool) {
	if len(findings) == 0 || findings[0].Rule == "" || findings[0].Score < Significant {
		return Finding{}, false
	}
	return findings[0], true
}
