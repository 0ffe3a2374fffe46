package evidence

import (
	"errors"
	"os"
	"strings"

	"github.com/google/pprof/profile"
)

func pprofFile(name string) (*profile.Profile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readPprof(f)
}

// readAsFar makes a note of an error after which there is something to show.
func readAsFar(some bool, err error) (note string, rest error) {
	if some && err != nil && !errors.Is(err, errMissing) {
		return strings.TrimPrefix(err.Error(), "evidence: "), nil
	}
	return "", err
}

// perf returns what perf has given so far, to add to.
func (e *Evidence) perf() *Perf {
	if e.Perf == nil {
		e.Perf = &Perf{Counters: map[string]float64{}}
	}
	return e.Perf
}

// counted takes what perf stat has counted.
func (e *Evidence) counted(p *Perf) {
	to := e.perf()
	to.Took, to.Counters, to.Unsupported = p.Took, p.Counters, p.Unsupported
}

func (e *Evidence) countsCycles() bool {
	return e.Perf != nil && e.Perf.Counters["cycles"] > 0
}

// unsupported says in words what perf could not count.
func unsupported(p *Perf) string {
	if len(p.Unsupported) == 0 {
		return ""
	}
	return "this machine does not count " + strings.Join(p.Unsupported, ", ")
}
