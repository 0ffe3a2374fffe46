package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

func findPerf() (string, error) {
	return tool("perf", "apt-get install linux-perf (Debian), linux-tools-generic (Ubuntu)")
}

// What is counted where the machine has it. The first ones need no counters of
// the processor.
var (
	softwareEvents = []string{"task-clock", "context-switches", "cpu-migrations", "page-faults"}
	hardwareEvents = []string{"cycles", "instructions", "branches", "branch-misses", "cache-references", "cache-misses", "L1-dcache-load-misses", "LLC-load-misses"}
)

// perfStatOf counts the events of a process.
func perfStatOf(ctx context.Context, pid int, dir string, d time.Duration) (*Perf, error) {
	path, err := findPerf()
	if err != nil {
		return nil, err
	}
	p, err := perfStat(ctx, path, pid, dir, d, slices.Concat(softwareEvents, hardwareEvents))
	if err != nil && ctx.Err() == nil && !errors.Is(err, errMissing) {
		// A perf that does not know one of the names refuses all.
		if p, err = perfStat(ctx, path, pid, dir, d, softwareEvents); err == nil {
			p.Unsupported = append(p.Unsupported, hardwareEvents...)
		}
	}
	return p, err
}

func perfStat(ctx context.Context, path string, pid int, dir string, d time.Duration, events []string) (*Perf, error) {
	file, err := os.CreateTemp(dir, "perf-stat-")
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	cmd := exec.Command(path, "stat", "-x", ",", "-e", strings.Join(events, ","), "-o", file.Name(), "-p", strconv.Itoa(pid))
	w, err := watch(ctx, cmd, func(w *watcher) bool {
		for to := range openFiles(w.PID()) {
			if to == "anon_inode:[perf_event]" {
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := w.over(ctx, d); err != nil {
		return nil, err
	}
	took := time.Since(began)
	p, err := readPerfStat(file)
	if p != nil {
		p.Took = took
	}
	if err != nil && w.Said() != "" {
		return nil, w.refused()
	}
	return p, err
}
