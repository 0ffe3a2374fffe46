package stats_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/measure"
	"github.com/sluice-go/sluice/lab/internal/scenarios"
)

// noiseFiles hold what two copies of the same variant came to, on the machine
// named in them: see their README.
var noiseFiles = []string{"testdata/noise-quiet.json", "testdata/noise-busy.json"}

// recordInto names the environment variable that makes this package's tests
// record a pass of noise into a file; SLUICE_NOISE_SELF is the program that
// scenarios start their children from.
const recordInto = "SLUICE_NOISE_INTO"

type noise struct {
	Machine   machine.Machine `json:"machine"`
	Scenarios []noisy         `json:"scenarios"`
}

// noisy is one scenario of which the baseline ran twice in each round.
type noisy struct {
	Name   string `json:"name"`
	Metric string `json:"metric"`
	Passes []pass `json:"passes"` // one for each time that the recorder ran
}

// A pass has the figures of both copies, by round.
type pass struct {
	One []float64 `json:"one"`
	Two []float64 `json:"two"`
}

// recorded are the scenarios whose noise is taken: one for each kind of work,
// from a few nanoseconds in one goroutine to sockets and other processes.
var recorded = []string{
	"framing/good", "framing/worst", "framing/small-16", "gc-pressure", "fanout/channels",
	"tcp/128B", "pools/4KiB/across", "machine/false-sharing",
}

func TestRecordNoise(t *testing.T) {
	path := os.Getenv(recordInto)
	if path == "" {
		t.Skipf("records a pass of noise into the file that %s names; see testdata/README.md", recordInto)
	}
	n := noise{Machine: machine.This()}
	if text, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(text, &n); err != nil {
			t.Fatal(err)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var twins []lab.Scenario
	for _, s := range scenarios.All() {
		if !slices.Contains(recorded, s.Name) {
			continue
		}
		at := slices.IndexFunc(s.Variants, func(v lab.Variant) bool { return v.Name == s.Baseline })
		one, two := s.Variants[at], s.Variants[at]
		one.Name, two.Name = "one", "two"
		s.Variants, s.Baseline, s.Targets = []lab.Variant{one, two}, "one", nil
		twins = append(twins, s)
	}
	outcomes, err := measure.Run(context.Background(), twins, measure.Options{
		Settings: measure.Normal().WithBudget(time.Duration(len(twins)) * 1500 * time.Millisecond).WithRounds(25),
		Seed:     uint64(time.Now().UnixNano()),
		Self:     os.Getenv("SLUICE_NOISE_SELF"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.State != measure.Done {
			t.Fatalf("%s: %s: %s", o.Name, o.State, o.Reason)
		}
		at := slices.IndexFunc(n.Scenarios, func(s noisy) bool { return s.Name == o.Name })
		if at < 0 {
			at = len(n.Scenarios)
			n.Scenarios = append(n.Scenarios, noisy{Name: o.Name, Metric: o.Metric})
		}
		p := pass{One: fiveDigits(o.Variants[0].Values(o.Metric)), Two: fiveDigits(o.Variants[1].Values(o.Metric))}
		n.Scenarios[at].Passes = append(n.Scenarios[at].Passes, p)
		t.Logf("%s: %d operations a round, %.4g %s", o.Name, o.Ops, p.One[0], o.Metric)
	}
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fiveDigits keeps the file small.
func fiveDigits(values []float64) []float64 {
	for i, v := range values {
		values[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	}
	return values
}

func loadNoise(t *testing.T, file string) noise {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	var n noise
	if err := json.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
