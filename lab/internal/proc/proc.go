// Package proc reads what a process has used of the machine: its own, or
// another by its number. It touches no payload bytes. Its functions may be
// called from any goroutine.
package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Reading is what a process has used since it began.
type Reading struct {
	cpu      time.Duration
	resident int64
	queued   map[int]time.Duration // of each thread that there is; nil where that is not known
}

// Spent is what a process used between two readings.
type Spent struct {
	CPU      time.Duration  `json:"cpu_ns"`              // user and system
	Queued   *time.Duration `json:"queued_ns,omitempty"` // its threads were ready and had no processor; nil where that is not known
	Resident int64          `json:"resident"`            // bytes at the second reading; 0 unknown
}

// Read reads what the process with a number has used, the calling one for 0.
//
// On Linux it is taken from its clock and /proc: proc(5). Elsewhere the calling process
// can be read, and another gives an error that wraps errors.ErrUnsupported. A process
// that does not exist gives one that wraps fs.ErrNotExist.
func Read(pid int) (Reading, error) {
	r, err := read(pid)
	if err != nil {
		return Reading{}, fmt.Errorf("proc: process %d: %w", pid, err)
	}
	return r, nil
}

// To returns what was used from r to a later reading of the same process. What threads
// waited that ended in between is lost.
func (r Reading) To(later Reading) Spent {
	s := Spent{CPU: max(0, later.cpu-r.cpu), Resident: later.resident}
	if r.queued != nil && later.queued != nil {
		s.Queued = new(time.Duration)
		for tid, waited := range later.queued {
			*s.Queued += max(0, waited-r.queued[tid])
		}
	}
	return s
}

const (
	memWithin = 10 * time.Second
	// A profile has a few hundred bytes for each place that allocates; what
	// is wanted stands behind all of them.
	mostProfile = 64 << 20
	mostLine    = 4 << 20
)

// Mallocs asks another Go process for how often it has allocated. pprofURL is where it serves
// net/http/pprof, such as http://127.0.0.1:6060/debug/pprof; the heap profile in
// its form for people (debug=1) ends with it.
//
// Asking costs the other process some hundred allocations, most of which come
// after it has looked at its counts: of two answers, the second has what the
// first one cost.
func Mallocs(ctx context.Context, pprofURL string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, memWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(pprofURL, "/")+"/heap?debug=1", nil)
	if err != nil {
		return 0, fmt.Errorf("proc: %w", err)
	}
	// A connection for this once: one that stays would be the other process's to keep.
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, fmt.Errorf("proc: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("proc: %s answers %s", request.URL, response.Status)
	}
	// Names of functions above the heading could look like the line.
	lines := bufio.NewScanner(io.LimitReader(response.Body, mostProfile))
	lines.Buffer(nil, mostLine)
	for within := false; lines.Scan(); {
		within = within || lines.Text() == "# runtime.MemStats"
		if text, ok := strings.CutPrefix(lines.Text(), "# Mallocs = "); ok && within {
			return strconv.ParseUint(text, 10, 64)
		}
	}
	return 0, fmt.Errorf("proc: %s: %w", request.URL, errors.Join(errNoMem, lines.Err()))
}

var errNoMem = errors.New("there are no runtime.MemStats in it")
