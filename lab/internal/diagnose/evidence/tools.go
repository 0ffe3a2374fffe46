package evidence

import (
	"fmt"
	"slices"
	"strings"
)

// The tools, as Tool.Name and Options.Tools call them.
const (
	ToolProc       = "proc"
	ToolCPU        = "pprof cpu"
	ToolAllocs     = "pprof allocs"
	ToolLocks      = "pprof locks" // the profiles of mutexes and of blocking; of files only
	ToolGoroutines = "goroutines"
	ToolTrace      = "trace"
	ToolPerfStat   = "perf stat"
	ToolPerfRecord = "perf record"
	ToolStrace     = "strace"
	ToolSharing    = "sharing"
)

// What became of a tool: Tool.State.
const (
	OK      = "ok"
	Missing = "missing" // not installed, not permitted, or nothing to do here
	Failed  = "failed"
	// Unneeded is said of a tool when another has seen what it would have seen.
	Unneeded = "not needed"
)

// Tools returns the names of all tools, in the order in which they are used.
// The slice is the caller's own.
func Tools() []string {
	return []string{ToolProc, ToolCPU, ToolAllocs, ToolLocks, ToolGoroutines, ToolPerfStat, ToolPerfRecord, ToolTrace, ToolStrace, ToolSharing}
}

// chosen returns the tools that are asked for, in the order of Tools.
func chosen(names []string) ([]string, error) {
	all := Tools()
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("evidence: there is no tool %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(names, name) }), nil
}
