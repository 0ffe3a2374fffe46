package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// counted are the events that are counted where the machine has them. The first four need no counters of
// the processor.
const counted = "task-clock,context-switches,cpu-migrations,page-faults," +
	"cycles,instructions,branches,branch-misses,cache-references,cache-misses,L1-dcache-load-misses,LLC-load-misses"

// perfStatOf counts the events of a process and those that it started.
func perfStatOf(ctx context.Context, pid int, dir string, d time.Duration) (*Perf, error) {
	path, err := findPerf()
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "perf-stat")
	// perf measures for as long as the program at the end runs.
	cmd := exec.Command(path, "stat", "-x", ",", "-e", counted, "-o", out, "-p", pids(pid), "sleep", seconds(d))
	if err := attach(ctx, cmd, "", 0); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	p, err := readPerfStat(string(text))
	if p != nil {
		p.Took = d
	}
	return p, err
}

// readPerfStat reads what perf stat -x, wrote: lines of
// value,unit,event,time,share of the time,... as in perf-stat(1), the times of
// clocks in milliseconds. Counters has them in nanoseconds by the names of the
// events, without what follows a colon ("cycles:u").
func readPerfStat(text string) (*Perf, error) {
	p := &Perf{Counters: make(map[string]float64)}
	for line := range strings.Lines(text) {
		fields := strings.Split(line, ",")
		if len(fields) < 3 || line[0] == '#' {
			continue
		}
		event, modifier, _ := strings.Cut(fields[2], ":")
		value, err := strconv.ParseFloat(fields[0], 64)
		// "u": only what happens outside of the kernel, where these two never do.
		blind := modifier == "u" && (event == "context-switches" || event == "cpu-migrations")
		switch {
		case blind || strings.HasPrefix(fields[0], "<"): // <not supported>, <not counted>
			p.Unsupported = append(p.Unsupported, event)
		case err != nil:
		case fields[1] == "msec":
			p.Counters[event] += value * 1e6
		default:
			p.Counters[event] += value // one event of several kinds of processors comes several times
		}
	}
	if len(p.Counters)+len(p.Unsupported) == 0 {
		return nil, errors.New("evidence: no counter in perf stat's output")
	}
	return p, nil
}
