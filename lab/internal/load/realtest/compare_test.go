//go:build linux

package realtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/stats"
)

// compareRounds is for how many rounds to compare, and skips the test when it is not to.
func compareRounds(t *testing.T) int {
	text := os.Getenv("SLUICE_COMPARE_LOAD")
	if text == "" {
		t.Skip("SLUICE_COMPARE_LOAD is not set, to 9 rounds say: make compare-load")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 6 || n > 1000 {
		t.Fatalf("SLUICE_COMPARE_LOAD=%s is no number of rounds from 6 to 1000", text)
	}
	return n
}

const compareTime = 2 * time.Second // of each tool in each round

// alike compares requests a second of lab load with another tool's on the same work, in
// interleaved rounds. It fails if the interval of the ratio is all below the tolerance. That
// it is above is no fault: a generator that needs less of a machine that it shares with
// the server leaves more of it to the server.
func alike(t *testing.T, what string, tolerance float64, p load.Plan, other func() float64) {
	t.Helper()
	p.Warmup, p.Duration = 200*time.Millisecond, compareTime
	var ours, theirs []float64
	for round := range compareRounds(t) {
		for half := range 2 {
			if (round+half)%2 == 0 {
				ours = append(ours, run(t, p).IOPS)
			} else {
				theirs = append(theirs, other())
			}
		}
	}
	c := stats.Compare(stats.Ratios(ours, theirs))
	t.Logf("%s: lab load / the other = %.3f (%.3f-%.3f), %.0f requests a second", what, c.Median, c.Lo, c.Hi, ours[len(ours)/2])
	if c.Hi < 1-tolerance {
		t.Errorf("%s: %.3f (%.3f-%.3f) is more than %.0f %% less", what, c.Median, c.Lo, c.Hi, 100*tolerance)
	}
}

// said runs a tool and returns what it prints.
func said(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program(t, name), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return string(out)
}

// figure is the number that an expression finds, times a factor by its unit.
func figure(t *testing.T, text, expression string) float64 {
	t.Helper()
	found := regexp.MustCompile(expression).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in %s", expression, text)
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 2 {
		v *= map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1}[found[2]]
	}
	return v
}

func TestCompareWithWrk(t *testing.T) {
	compareRounds(t)
	n := startNginx(t, 1_000_000)
	for _, conns := range []int{8, 64} {
		p := load.Default()
		p.Target, p.Conns = "http://"+n.plain+"/", conns
		alike(t, fmt.Sprintf("wrk, %d connections", conns), 0.03, p, func() float64 {
			return figure(t, said(t, "wrk", "-t1", "-c"+strconv.Itoa(conns), "-d"+compareTime.String(), p.Target), `Requests/sec: +([0-9.]+)`)
		})
	}
}

// A closed loop omits the requests that would have come while the server stood still.
// (wrk is none to show it with: it adds them to its figures afterwards.)
func TestCompareAStallWithRedisBenchmark(t *testing.T) {
	compareRounds(t)
	server, addr := startRedis(t)
	host, port, _ := strings.Cut(addr, ":")
	signal := func(s syscall.Signal) error { return server.Signal(s) }
	p := load.Default()
	p.Target, p.Conns, p.Rate, p.Duration, p.LateAfter = "redis://"+addr, 8, 1000, 5*time.Second, 100*time.Millisecond
	count := p
	count.Rate, count.Duration = 0, compareTime
	often := strconv.Itoa(int(run(t, count).IOPS * 5))
	ours := stalled(t, signal, func() (*load.Result, error) { return load.Run(t.Context(), p, nil) })
	theirs := stalled(t, signal, func() (float64, error) {
		return figure(t, said(t, "redis-benchmark", "-h", host, "-p", port, "-c", "8", "-n", often, "PING"), `99\.9[0-9]*% <= ([0-9.]+) milli(s)econds`) / 1000, nil
	})
	if ours.Latency == nil {
		t.Fatalf("%+v", ours.Reasons)
	}
	t.Logf("a stall of 1 s: P99.9 is %v, of redis-benchmark %.1f ms", ours.Latency.P999, theirs*1e3)
	if ours.Latency.P999 < 900*time.Millisecond || theirs > 0.5 {
		t.Errorf("a stall of 1 s: P99.9 is %v, of redis-benchmark %.1f ms", ours.Latency.P999, theirs*1e3)
	}
}

func TestCompareWithRedisBenchmark(t *testing.T) {
	compareRounds(t)
	_, addr := startRedis(t)
	host, port, _ := strings.Cut(addr, ":")
	for _, c := range []struct {
		name, command string
		args          []string
		depth         int
	}{
		{"PING", "PING", []string{"PING"}, 1},
		{"GET of random keys", "GET key:{rand}", []string{"-r", "100000", "GET", "key:__rand_int__"}, 1},
		{"SET, 16 under way", "SET key:{rand} {data}", []string{"-r", "100000", "SET", "key:__rand_int__", strings.Repeat("x", 128)}, 16},
	} {
		p := load.Default()
		p.Target, p.Conns, p.Depth = "redis://"+addr, 50, c.depth
		p.Requests.Redis = &wire.Redis{Commands: []string{c.command}}
		// It counts requests, not seconds: as many as take about as long.
		count := strconv.Itoa(int(run(t, p).IOPS * compareTime.Seconds()))
		alike(t, "redis-benchmark, "+c.name, 0.03, p, func() float64 {
			args := append([]string{"-h", host, "-p", port, "-c", "50", "-P", strconv.Itoa(c.depth), "-n", count, "--csv"}, c.args...)
			return figure(t, said(t, "redis-benchmark", args...), `(?m)^"[^"]*","([0-9.]+)"[^\n]*$\n*\z`)
		})
	}
}

func TestCompareWithFio(t *testing.T) {
	compareRounds(t)
	// The working directory, and not a temporary one, which may lie in memory.
	dir, err := os.MkdirTemp(".", "fio-*.tmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	name := filepath.Join(dir, "data")
	if err := os.WriteFile(name, make([]byte, 256<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pattern string
		block   int
		depth   int
		direct  bool
		sync    int
	}{
		{"randread", 4096, 1, false, 0},
		{"read", 128 << 10, 1, false, 0},
		{"randread", 4096, 4, true, 0},
		{"write", 128 << 10, 1, true, 0},
		{"randwrite", 4096, 1, false, 1},
	} {
		p := load.Default()
		p.Target, p.Conns, p.Depth, p.Sizes = "file:"+name, 1, c.depth, load.OneSize(c.block)
		p.Requests.File = &wire.File{Pattern: c.pattern, Direct: c.direct, Sync: c.sync, Overwrite: true}
		direct := map[bool]string{false: "0", true: "1"}[c.direct]
		what := fmt.Sprintf("fio, %s of %d KiB, depth %d, direct %s, fsync %d", c.pattern, c.block>>10, c.depth, direct, c.sync)
		alike(t, what, 0.05, p, func() float64 {
			out := said(t, "fio", "--name=x", "--filename="+name, "--rw="+c.pattern, "--bs="+strconv.Itoa(c.block), "--numjobs="+strconv.Itoa(c.depth), "--thread", "--group_reporting",
				"--direct="+direct, "--fsync="+strconv.Itoa(c.sync), "--size=256M", "--overwrite=1", "--invalidate=0", "--ioengine=psync", "--time_based", "--ramp_time=200ms",
				"--runtime="+compareTime.String(), "--randrepeat=0", "--norandommap", "--output-format=json")
			var result struct {
				Jobs []struct{ Read, Write struct{ Iops float64 } }
			}
			if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &result); err != nil || len(result.Jobs) != 1 {
				t.Fatalf("%v: %s", err, out)
			}
			return result.Jobs[0].Read.Iops + result.Jobs[0].Write.Iops
		})
	}
}
