package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	maxPerfStat     = 1 << 20
	maxPerfCounters = 1024
)

// readPerfStat reads what perf stat -x, wrote: lines of
// value,unit,event,time,share of the time,... as in perf-stat(1), the times of
// clocks in milliseconds. Counters has them in nanoseconds by the names of the
// events, without what follows a colon ("cycles:u").
func readPerfStat(r io.Reader) (*Perf, error) {
	p := &Perf{Counters: make(map[string]float64)}
	limited := &io.LimitedReader{R: r, N: maxPerfStat}
	in := bufio.NewScanner(limited)
	known := false
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, ",")
		if len(fields) < 3 || fields[2] == "" {
			continue
		}
		event, modifier, _ := strings.Cut(fields[2], ":")
		if event == "" || len(event) > 200 || len(p.Counters)+len(p.Unsupported) >= maxPerfCounters {
			continue
		}
		// "u": only what happens outside of the kernel, where these two never do.
		blind := modifier == "u" && (event == "context-switches" || event == "cpu-migrations")
		if blind || strings.HasPrefix(fields[0], "<") { // <not supported>, <not counted>
			known = true
			if !slices.Contains(p.Unsupported, event) {
				p.Unsupported = append(p.Unsupported, event)
			}
			continue
		}
		value, err := strconv.ParseFloat(fields[0], 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
			continue
		}
		if fields[1] == "msec" {
			value *= 1e6
		}
		known = true
		// One event of several kinds of processors comes several times.
		if sum := p.Counters[event] + value; !math.IsInf(sum, 0) {
			p.Counters[event] = sum
		}
	}
	if err := in.Err(); err != nil {
		return p, fmt.Errorf("evidence: reading perf stat's output: %w", err)
	}
	if !known {
		return nil, errors.New("evidence: no counter in perf stat's output")
	}
	return p, nil
}
