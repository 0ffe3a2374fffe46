package diagnose

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
	"github.com/sluice-go/sluice/lab/internal/planted"
)

// perf is both of perf's tools.
var perf = []string{evidence.ToolPerfStat, evidence.ToolPerfRecord}

func TestRecordedFaultsAreNamedFirst(t *testing.T) {
	for _, c := range faults {
		e := recorded(t, c.name, planted.Fault)
		for missing, tools := range map[string][]string{
			"nothing": nil,
			"strace":  {evidence.ToolStrace},
			"perf":    perf,
			"both":    append(perf, evidence.ToolStrace),
			"locks":   {evidence.ToolLocks},
			"allocs":  {evidence.ToolAllocs},
		} {
			f, ok := First(Diagnose(without(e, tools...)))
			if !ok || f.Rule != c.rule || !strings.Contains(f.Top, c.place) || f.Clue == "" || f.Try == "" {
				t.Errorf("%s, %s missing: the first is %+v", c.name, missing, f)
			}
			if missing == "strace" && c.name != "slice-per-packet" && c.name != "lock-over-io" && c.name != "shared-counter" && !strings.Contains(f.Clue, "without strace") {
				t.Errorf("%s: the clue does not say that it does without strace: %s", c.name, f.Clue)
			}
		}
	}
}

// TestWhatCannotBeFoundWithoutATool says which faults need which tool. That they are
// not found is no aim; that something else is not blamed instead is.
func TestWhatCannotBeFoundWithoutATool(t *testing.T) {
	for _, c := range []struct{ fault, tool string }{
		{"shared-counter", evidence.ToolScaling},
		{"shared-counter", evidence.ToolCPU},
		{"small-writes", evidence.ToolCPU},
		{"small-buffer", evidence.ToolCPU},
		{"small-flushes", evidence.ToolCPU},
	} {
		if f, ok := First(Diagnose(without(recorded(t, c.fault, planted.Fault), append(perf, c.tool)...))); ok {
			t.Errorf("%s without %s: %+v", c.fault, c.tool, f)
		}
	}
}

func TestALockOverIOIsFoundWithoutTheTrace(t *testing.T) {
	e := without(recorded(t, "lock-over-io", planted.Fault), evidence.ToolTrace)
	for _, f := range Diagnose(e) {
		if f.Rule == "lock-over-io" || f.Rule == "lock-contention" {
			if f.Tool != evidence.ToolLocks || !strings.Contains(f.Clue, "without the trace") {
				t.Errorf("%+v", f)
			}
			return
		}
	}
	t.Error("nobody waits for a lock")
}

func TestMendedWorkloadsHaveNothingThatStandsOut(t *testing.T) {
	for _, c := range faults {
		e := recorded(t, c.name, planted.Mended)
		for missing, tools := range map[string][]string{
			"nothing": nil,
			"strace":  {evidence.ToolStrace},
			"perf":    perf,
			"both":    append(perf, evidence.ToolStrace),
			"trace":   {evidence.ToolTrace},
			"allocs":  {evidence.ToolAllocs},
			"scaling": {evidence.ToolScaling},
			"cpu":     {evidence.ToolCPU},
		} {
			if f, ok := First(Diagnose(without(e, tools...))); ok {
				t.Errorf("%s, %s missing: %s scores %.2f: %s", c.name, missing, f.Rule, f.Score, f.Clue)
			}
		}
	}
}

func TestTheFaultsOfOthersAreNotBlamed(t *testing.T) {
	// In the evidence of each fault, the rules of the other five stay below its
	// own, by far.
	for _, c := range faults {
		findings := Diagnose(recorded(t, c.name, planted.Fault))
		for _, f := range findings[1:] {
			for _, other := range faults {
				if f.Rule == other.rule && f.Score > findings[0].Score/2 {
					t.Errorf("%s: %s scores %.2f beside %.2f", c.name, f.Rule, f.Score, findings[0].Score)
				}
			}
		}
	}
}
