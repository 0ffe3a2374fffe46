package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"
)

// Mem is what the Go runtime of a process has counted since it began.
type Mem struct {
	Mallocs    uint64 // allocations
	TotalAlloc uint64 // bytes of them
	NumGC      uint64 // collections
	// PauseTotalNs is how long those stopped the program. Of another process it
	// is only that of the last 256, which is why a difference of two is not what came
	// between them: To is.
	PauseTotalNs uint64
	HeapInuse    uint64 // bytes at that moment

	// pauses are the last ones, the most recent at (NumGC+255)%256:
	// runtime.MemStats.PauseNs.
	pauses [256]uint64
	exact  bool // PauseTotalNs is of all
}

// MemSpent is what came between two readings.
type MemSpent struct {
	Mallocs uint64
	Bytes   uint64
	GCs     uint64
	Pause   *time.Duration // nil where there were too many collections to know
}

// To returns what came between m and a later reading of the same process. A
// process that began anew in between is counted from its beginning.
func (m Mem) To(later Mem) MemSpent {
	if later.Mallocs < m.Mallocs || later.NumGC < m.NumGC || later.TotalAlloc < m.TotalAlloc {
		m = Mem{exact: true}
	}
	s := MemSpent{Mallocs: later.Mallocs - m.Mallocs, Bytes: later.TotalAlloc - m.TotalAlloc, GCs: later.NumGC - m.NumGC}
	switch n := uint64(len(later.pauses)); {
	case s.GCs <= n:
		var sum time.Duration
		for gc := m.NumGC; gc < later.NumGC; gc++ {
			sum += time.Duration(later.pauses[gc%n])
		}
		s.Pause = &sum
	case m.exact && later.exact:
		sum := time.Duration(later.PauseTotalNs - m.PauseTotalNs)
		s.Pause = &sum
	}
	return s
}

// OwnMem reads the counts of the calling process. It stops it for a moment.
func OwnMem() Mem {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return Mem{
		Mallocs: s.Mallocs, TotalAlloc: s.TotalAlloc, NumGC: uint64(s.NumGC), PauseTotalNs: s.PauseTotalNs,
		HeapInuse: s.HeapInuse, pauses: s.PauseNs, exact: true,
	}
}

const (
	memWithin = 10 * time.Second
	// A profile has a few hundred bytes for each place that allocates; what
	// is wanted stands behind all of them.
	mostProfile = 64 << 20
	mostLine    = 4 << 20
)

// MemStats asks another Go process for its counts. pprofURL is where it serves
// net/http/pprof, such as http://127.0.0.1:6060/debug/pprof; the heap profile in
// its form for people (debug=1) ends with them.
//
// Asking costs the other process some hundred allocations, most of which come
// after it has looked at its counts: of two answers, the second has what the
// first one cost.
func MemStats(ctx context.Context, pprofURL string) (Mem, error) {
	u, err := url.Parse(pprofURL)
	if err != nil {
		return Mem{}, fmt.Errorf("proc: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return Mem{}, fmt.Errorf("proc: %q is no address of profiles, such as http://127.0.0.1:6060/debug/pprof", pprofURL)
	}
	u = u.JoinPath("heap")
	u.RawQuery = "debug=1"
	ctx, cancel := context.WithTimeout(ctx, memWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Mem{}, fmt.Errorf("proc: %w", err)
	}
	// A connection for this once: one that stays would be the target's to keep.
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true, Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return Mem{}, fmt.Errorf("proc: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return Mem{}, fmt.Errorf("proc: %s answers %s", u, response.Status)
	}
	m, err := parseMem(io.LimitReader(response.Body, mostProfile))
	if err != nil {
		return Mem{}, fmt.Errorf("proc: %s: %w", u, err)
	}
	return m, nil
}

var errNoMem = errors.New("there are no runtime.MemStats in it")

// parseMem finds the lines "# NAME = VALUE" below "# runtime.MemStats". Names of
// functions above it could look like them.
func parseMem(r io.Reader) (Mem, error) {
	var m Mem
	want := map[string]*uint64{"Mallocs": &m.Mallocs, "TotalAlloc": &m.TotalAlloc, "NumGC": &m.NumGC, "HeapInuse": &m.HeapInuse}
	pauses, within := "", false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, mostLine)
	for lines.Scan() {
		text := strings.TrimSpace(lines.Text())
		name, value, ok := strings.Cut(strings.TrimPrefix(text, "# "), " = ")
		switch {
		case text == "# runtime.MemStats":
			within = true
		case !ok || !within:
		case name == "PauseNs":
			pauses = strings.Trim(value, "[]")
		case want[name] != nil:
			n, ok := count([]byte(value))
			if !ok {
				return Mem{}, malformed("runtime.MemStats", lines.Bytes())
			}
			*want[name] = n
			delete(want, name)
		}
	}
	if err := lines.Err(); err != nil || len(want) > 0 || pauses == "" {
		return Mem{}, errors.Join(errNoMem, err)
	}
	fields := strings.Fields(pauses)
	if len(fields) != len(m.pauses) {
		return Mem{}, malformed("runtime.MemStats", []byte(pauses))
	}
	for i, f := range fields {
		n, ok := count([]byte(f))
		// An hour is more than any pause, and less than what could overflow a sum.
		if !ok || n > uint64(time.Hour) {
			return Mem{}, malformed("runtime.MemStats", []byte(pauses))
		}
		m.pauses[i] = n
		m.PauseTotalNs += n
	}
	m.exact = m.NumGC <= uint64(len(m.pauses))
	return m, nil
}
