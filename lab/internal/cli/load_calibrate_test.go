package cli

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/calibrate"
)

// studied is what two rounds come to.
func studied() *calibrate.Result {
	return &calibrate.Result{
		Kind: calibrate.Kind, Schema: calibrate.Schema, Asked: 2,
		Rounds: []calibrate.Round{
			{Measured: time.Second, Requests: 7000, Throughput: 896_000, IOPS: 7000, Service: time.Millisecond, Theory: 8000, Ratio: 0.875, Busy: 0.5, Valid: true},
			{Measured: time.Second, Requests: 7200, Throughput: 921_600, IOPS: 7200, Service: time.Millisecond, Theory: 8000, Ratio: 0.9, Busy: 0.5, Valid: true},
		},
		Throughput: calibrate.Spread{N: 2, Mean: 908_800, StdDev: 18_102, CV: 0.0199}, IOPS: calibrate.Spread{N: 2, Mean: 7100, StdDev: 141.4, CV: 0.0199},
		Ratio: calibrate.Spread{N: 2, Mean: 0.8875, StdDev: 0.0177, CV: 0.0199},
	}
}

func TestCalibrateShowsHowFarRoundsLieApart(t *testing.T) {
	c := &loadCall{rounds: studied()}
	target := aTarget(t)
	if exit := c.call("calibrate", "--rounds", "2", "--duration", "1s", "--conns", "4", "--iodepth", "2", target); exit != ExitOK {
		t.Fatalf("exit code %d, %s", exit, c.stderr.String())
	}
	if c.asked.Target != target || c.asked.Conns != 4 || c.asked.Depth != 2 || c.asked.Duration != time.Second {
		t.Errorf("asked for %+v", c.asked)
	}
	says(t, c.stdout.String(), "frame "+target+": 4 connections, 128 B, closed loop, 2 requests under way on each", "2 rounds of 1s",
		"round throughput requests/s service theory reached busy", "1 896 kB/s 7,000 1 ms 8,000 87.5 % 50 %",
		"mean 909 kB/s 7,100 88.8 %", "stddev 18.1 kB/s 141", "CV 1.99 % 1.99 %",
		"The throughput of 2 rounds has a standard deviation of 18.1 kB/s, 1.99 % of the mean.",
		"With 8 requests under way, 88.8 % of what Little's law allows was reached.")
}

func TestCalibrateDefaults(t *testing.T) {
	r := studied()
	r.Own = true
	r.Rounds[1].Valid, r.Rounds[1].Theory, r.Rounds[1].Reasons = false, 0, []string{"the generator was out of CPU"}
	c := &loadCall{rounds: r}
	if exit := c.call("calibrate"); exit != ExitOK || c.asked.Duration != 30*time.Second || c.rounds.Asked != 5 || c.asked.Target != "" {
		t.Fatalf("exit code %d, %s; %+v", exit, c.stderr.String(), c.asked)
	}
	says(t, c.stdout.String(), "frame against a target of its own", "5 rounds of 30s", "2 ! 922 kB/s 7,200 - - - 50 %", "! INVALID, round 2: the generator was out of CPU")

	// Of somebody else's target such rounds say nothing.
	r.Own = false
	c = &loadCall{rounds: r}
	if exit := c.call("calibrate", aTarget(t)); exit != ExitUnusable {
		t.Errorf("exit code %d, %s", exit, c.stderr.String())
	}
}

func TestACalibrationThatEndsEarly(t *testing.T) {
	r := studied()
	r.Stopped = true
	c := &loadCall{rounds: r}
	if exit := c.call("calibrate", "--json", "-"); exit != ExitUnusable {
		t.Errorf("exit code %d, %s", exit, c.stderr.String())
	}
	says(t, c.stderr.String(), "INTERRUPTED: 2 of 5 rounds")
	var got calibrate.Result
	if err := json.Unmarshal(c.stdout.Bytes(), &got); err != nil || got.Kind != "calibration" || len(got.Rounds) != 2 || got.Version == "" {
		t.Errorf("%v, %+v", err, got)
	}

	r = &calibrate.Result{}
	c = &loadCall{rounds: r, err: errors.New("the target failed: reset")}
	if exit := c.call("calibrate"); exit != ExitFailure || !strings.Contains(c.stderr.String(), "the target failed: reset") {
		t.Errorf("exit code %d, %s", exit, c.stderr.String())
	}
	says(t, c.stdout.String(), "No round was finished.")

	r = studied()
	r.Rounds, r.Ratio = r.Rounds[:1], calibrate.Spread{}
	c = &loadCall{rounds: r}
	if exit := c.call("calibrate", "--rounds", "1", "--json", filepath.Join(t.TempDir(), "x")); exit != ExitOK {
		t.Errorf("exit code %d, %s", exit, c.stderr.String())
	}
	says(t, c.stdout.String(), "One round has no standard deviation.", "No round has a service time")
}
