package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

// A loadCall is a call of lab load in this process, with a run that is made up.
type loadCall struct {
	result *load.Result
	err    error

	asked          load.Plan
	calibrated     bool
	stdout, stderr bytes.Buffer
	full           bool // standard output is
}

// aTarget takes connections, and says nothing.
func aTarget(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return l.Addr().String()
}

// call runs the command line and returns the exit code.
func (c *loadCall) call(args ...string) int {
	command := loadCommand{
		App: App{Stdout: &c.stdout, Stderr: &c.stderr, args: append([]string{"load"}, args...)},
		run: func(_ context.Context, p load.Plan, progress func(load.Progress)) (*load.Result, error) {
			c.asked = p
			progress(load.Progress{At: time.Second, Bytes: 1e6})
			progress(load.Progress{At: time.Second, Measuring: true, Requests: 1234, Bytes: 2e6, Errors: 3})
			if c.result != nil {
				c.result.Plan = p
			}
			return c.result, c.err
		},
		calibrate: func(context.Context, load.Plan) (*load.Calibration, error) {
			c.calibrated = true
			return &load.Calibration{
				Timer: load.Distribution{P50: 60 * time.Microsecond, P99: 2 * time.Millisecond}, LateAfter: 2 * time.Millisecond,
			}, nil
		},
	}
	if c.full {
		_, command.Stdout = io.Pipe()
		command.Stdout.(io.Closer).Close()
	}
	root := command.command()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(args)
	root.SetOut(&c.stdout)
	root.SetErr(&c.stderr)
	err := root.Execute()
	var exit *exitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		if exit.err != nil {
			c.stderr.WriteString(exit.Error() + "\n")
		}
		return exit.code
	}
	c.stderr.WriteString(err.Error() + "\n")
	return ExitUsage
}

// known returns a pointer to a value that the system reported.
func known[T any](v T) *T { return &v }

// ran is what a run of an open loop comes to.
func ran() *load.Result {
	return &load.Result{
		Origin: machine.Origin{Kind: load.Kind, Schema: load.Schema}, Valid: true, Measured: 10 * time.Second, Requests: 50_000, Bytes: 6_400_000, IOPS: 5000, Throughput: 640_000,
		Late: 0.012, LateAfter: 2 * time.Millisecond, Busy: 0.23,
		Latency: &load.Distribution{Count: 50_000, P50: 58100, P90: 71200, P99: 1_500_000, P999: 20 * time.Millisecond, Max: time.Second, Mean: 88_000},
		Service: &load.Distribution{Count: 50_000, P50: 51 * time.Microsecond, P90: 61 * time.Microsecond, P99: 77 * time.Microsecond, P999: 88 * time.Microsecond, Max: 99 * time.Microsecond, Mean: 52 * time.Microsecond},
		Series:  []load.Second{{At: time.Second, Rate: 630_000}, {At: 2 * time.Second, Rate: 650_000}},
		Generator: load.Use{
			Spent: proc.Spent{CPU: time.Second}, CPUPerOp: 20_000,
		},
		Target: &load.Use{Spent: proc.Spent{CPU: 2 * time.Second, Queued: known(time.Second), Resident: 5 << 20}, CPUPerOp: 40_000},
	}
}

// says holds that each line is in a text, spaces aside.
func says(t *testing.T, text string, lines ...string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, line := range lines {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in %q", line, text)
		}
	}
}

func TestAnOpenLoopShowsLatencyBesideServiceTime(t *testing.T) {
	c := &loadCall{result: ran()}
	target := aTarget(t)
	exit := c.call("--rate", "5000", "--conns", "64", "--json", filepath.Join(t.TempDir(), "r.json"), target)
	if exit != ExitOK || !c.calibrated || c.asked.LateAfter != 2*time.Millisecond || c.asked.Target != target {
		t.Fatalf("exit code %d, %s; asked for %+v", exit, c.stderr.String(), c.asked)
	}
	says(t, c.stdout.String(),
		"frame "+target+": 64 connections, 128 B, open loop, 5,000 requests/s, at most 1 request under way on each",
		"timers end 60 µs late, P99 2 ms: a send is late after 2 ms",
		"throughput 640 kB/s of payload; by the second 630 kB/s to 650 kB/s",
		"requests 5,000/s, 50,000 answered in 10 s",
		"latency P50 P90 P99 P99.9 max mean", "from the time due 58.1 µs 71.2 µs 1.50 ms 20 ms 1 s 88 µs", "service time 51 µs 61 µs 77 µs 88 µs 99 µs 52 µs",
		"1.2 % of the sends were late by the generator's own doing: P99 and above may be its figures",
		"generator 20 µs of CPU a request", "target 40 µs of CPU a request, waited for a CPU 0.10 s each second, all threads together, 5 MiB resident",
		"late 1.2 % of the sends, by more than 2 ms", "busy 23 % of the time",
	)
	says(t, c.stderr.String(), "warm-up 1s 1 MB/s", "1s 2 MB/s requests 1,234 errors 3")
	if strings.Contains(c.stdout.String()+c.stderr.String(), "\x1b") {
		t.Error("a pipe gets what is for terminals")
	}
	if strings.Contains(c.stdout.String(), "hides stalls") {
		t.Error(c.stdout.String())
	}
}

func TestTheHeadSaysWhatIsDone(t *testing.T) {
	c := &loadCall{result: ran()}
	target := aTarget(t)
	if exit := c.call("--no-calibration", "--protocol", "echo", "--conns", "4", "--iodepth", "8", "--rate", "20000", "--size", "64..4KiB", target); exit != ExitOK {
		t.Fatalf("exit code %d, %s", exit, c.stderr.String())
	}
	says(t, c.stdout.String(), "echo "+target+": 4 connections, 64 B to 4 KiB, open loop, 20,000 requests/s, at most 8 requests under way on each")
	c = &loadCall{result: ran()}
	c.call("--no-calibration", "--size", "64..1024", target)
	says(t, c.stdout.String(), "frame "+target+": 1 connection, 64 B to 1 KiB, closed loop")
}

func TestAClosedLoopSaysWhatItHides(t *testing.T) {
	r := ran()
	r.Service, r.Target, r.Late = nil, nil, 0
	c := &loadCall{result: r}
	if exit := c.call("--no-calibration", aTarget(t)); exit != ExitOK || c.calibrated || c.asked.Rate != 0 || c.asked.LateAfter != 0 {
		t.Fatalf("exit code %d, %s", exit, c.stderr.String())
	}
	says(t, c.stdout.String(), "128 B, closed loop, 1 request under way on each", "from the send 58.1 µs", "A closed loop hides stalls")
	for _, not := range []string{"service time", "late ", "timers"} {
		if strings.Contains(c.stdout.String(), not) {
			t.Errorf("%q is in %s", not, c.stdout.String())
		}
	}
}

func TestAnInvalidRunShowsNoLatency(t *testing.T) {
	for reason, want := range map[load.Reason]struct {
		try  string
		busy bool // waits for a processor may be why
	}{
		{Code: load.TargetBehind, Text: "12.0 % were not sent"}: {"try: a lower --rate, more --conns", true},
		{Code: load.GeneratorLate, Text: "7.0 % were late"}:     {"try: a lower --rate, more --threads", true},
		{Code: load.GeneratorFull, Text: "busy 99 %"}:           {"try: more --threads", true},
		{Code: load.EndedEarly, Text: "within the warm-up"}:     {"try: a longer run", false},
		{Code: load.NothingAnswered, Text: "nothing was there"}: {"try: a longer --duration", false},
		{Code: load.RepliesFailed, Text: "100 % failed"}:        {"try: what the target logs", false},
		{Code: "another", Text: "something not\nthought\tof"}:   {"something not thought of", false},
	} {
		r := ran()
		r.Valid, r.Reasons = false, []load.Reason{reason}
		r.Latency, r.Service = nil, nil
		r.Generator.Queued = known(4 * time.Second)
		c := &loadCall{result: r}
		if exit := c.call("--rate", "5000", "--no-calibration", aTarget(t)); exit != ExitUnusable {
			t.Fatalf("exit code %d, %s", exit, c.stderr.String())
		}
		says(t, c.stdout.String(), "INVALID there is no latency to show", strings.Join(strings.Fields(reason.Text), " "), want.try, "requests 5,000/s", "of CPU a request")
		text := strings.Join(strings.Fields(c.stdout.String()), " ")
		if strings.Contains(text, "waited for a processor 0.40 s each second, all together: the target or something else keeps") != want.busy {
			t.Errorf("%s: %s", reason.Code, text)
		}
		for _, not := range []string{"p50", "p99", "P99", "service time", "max ", "jitter"} {
			if strings.Contains(c.stdout.String(), not) {
				t.Errorf("%q is in %s", not, c.stdout.String())
			}
		}
	}
}

func TestAnInterruptedRunShowsWhatThereIs(t *testing.T) {
	r := ran()
	r.Interrupted, r.Measured = true, 3200*time.Millisecond
	c := &loadCall{result: r}
	if exit := c.call("--rate", "5000", "--no-calibration", "--json", "-", aTarget(t)); exit != ExitUnusable {
		t.Errorf("exit code %d, %s", exit, c.stderr.String())
	}
	says(t, c.stderr.String(), "INTERRUPTED what follows is of the 3.20 s", "20 ms 1 s 88 µs")
}

func TestARunWithoutAnAnswerDividesByNothing(t *testing.T) {
	nothing := func() *load.Result {
		return &load.Result{Generator: load.Use{Spent: proc.Spent{CPU: time.Second}}}
	}
	r := nothing()
	r.Measured, r.Reasons, r.Errors, r.Error = time.Second, []load.Reason{{Code: load.TargetFailed, Text: "the target failed: no answer"}}, 1, "no answer"
	c := &loadCall{result: r}
	if exit := c.call("--no-calibration", aTarget(t)); exit != ExitFailure {
		t.Errorf("exit code %d", exit)
	}
	says(t, c.stdout.String(), "throughput 0 B/s", "requests 0/s, 0 answered in 1 s", "INVALID")
	r = nothing()
	r.Interrupted, r.Reasons = true, []load.Reason{{Code: load.EndedEarly, Text: "it ended within the warm-up"}}
	d := &loadCall{result: r}
	if exit := d.call("--no-calibration", "--rate", "5", aTarget(t)); exit != ExitUnusable {
		t.Errorf("exit code %d", exit)
	}
	says(t, d.stdout.String(), "INTERRUPTED within the warm-up: nothing was measured")
	for _, text := range []string{c.stdout.String(), d.stdout.String()} {
		for _, not := range []string{"/request", "NaN", "Inf", "p99"} {
			if strings.Contains(text, not) {
				t.Errorf("%q is in %s", not, text)
			}
		}
	}
}

func TestATargetThatFails(t *testing.T) {
	r := ran()
	r.Valid, r.Errors, r.Error, r.Reasons = false, 3, "read: connection reset by peer", []load.Reason{{Code: load.TargetFailed, Text: "the target failed: read: connection reset by peer"}}
	r.Latency, r.Service = nil, nil
	c := &loadCall{result: r}
	if exit := c.call("--no-calibration", aTarget(t)); exit != ExitFailure {
		t.Errorf("exit code %d", exit)
	}
	says(t, c.stderr.String(), "load: the target failed: read: connection reset by peer")
	says(t, c.stdout.String(), "errors 3", "INVALID", "the target failed: read: connection reset by peer", "try: what the target logs")

	// With --redial it is expected.
	r = ran()
	r.Errors, r.Error, r.Redials = 3, "read: connection reset by peer", 2
	c = &loadCall{result: r}
	if exit := c.call("--no-calibration", "--redial", aTarget(t)); exit != ExitOK {
		t.Errorf("exit code %d", exit)
	}
	says(t, c.stdout.String(), "errors 3, the first: ", "redials 2", "latency")

	c = &loadCall{err: errors.New("load: connection 5 of 64: refused")}
	if exit := c.call("--no-calibration", aTarget(t)); exit != ExitFailure || !strings.Contains(c.stderr.String(), "5 of 64") {
		t.Errorf("exit code %d, %s", exit, c.stderr.String())
	}
	// What was measured is not thrown away for a file that could not be written.
	c = &loadCall{result: ran(), err: errors.New("load: the file of acknowledgements: no space")}
	if exit := c.call("--no-calibration", aTarget(t)); exit != ExitFailure || !strings.Contains(c.stderr.String(), "no space") {
		t.Errorf("exit code %d, %s", exit, c.stderr.String())
	}
	says(t, c.stdout.String(), "latency")
}

func TestATargetThatIsNotThere(t *testing.T) {
	gone := loopback.Free(t)
	there := aTarget(t)
	for _, args := range [][]string{{gone}, {there + "," + gone}, {"--redial", gone}, {"unix:" + filepath.Join(t.TempDir(), "none")}} {
		c := &loadCall{result: ran()}
		if exit := c.call(args...); exit != ExitFailure || c.calibrated || c.stdout.Len() > 0 || !strings.HasPrefix(c.stderr.String(), "load: ") {
			t.Errorf("%q: exit code %d, %s", args, exit, c.stderr.String())
		}
	}
	c := &loadCall{result: ran()}
	if exit := c.call("--redial", there+","+gone); exit != ExitOK {
		t.Errorf("exit code %d, %s", exit, c.stderr.String())
	}
}

func TestLoadInJSON(t *testing.T) {
	for _, to := range []string{"-", filepath.Join(t.TempDir(), "r.json")} {
		c := &loadCall{result: ran()}
		if exit := c.call("--rate", "5000", "--json", to, aTarget(t)); exit != ExitOK {
			t.Fatalf("exit code %d, %s", exit, c.stderr.String())
		}
		text := c.stdout.Bytes()
		if to != "-" {
			var err error
			if text, err = os.ReadFile(to); err != nil {
				t.Fatal(err)
			}
		} else {
			says(t, c.stderr.String(), "20 ms 1 s 88 µs") // for people
		}
		var r load.Result
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind != "load" || r.Version == "" || r.Command[0] != "lab" || r.Command[1] != "load" || r.Machine.Cores < 1 || r.Calibration == nil || r.Plan.Rate != 5000 {
			t.Errorf("%+v", r)
		}
	}
	// Full disks are reported.
	if exit := (&loadCall{result: ran(), full: true}).call("--no-calibration", aTarget(t)); exit != ExitFailure {
		t.Errorf("exit code %d though nothing could be printed", exit)
	}
	c := &loadCall{result: ran()}
	if _, err := os.Stat("/dev/full"); err == nil {
		if exit := c.call("--no-calibration", "--json", "/dev/full", aTarget(t)); exit != ExitFailure || !strings.Contains(c.stderr.String(), "--json") {
			t.Errorf("exit code %d, %s", exit, c.stderr.String())
		}
	}
}

func TestLoadProgressOnATerminalIsOneLine(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.live, p.columns = true, func() int { return 20 }
	p.load(load.Progress{At: time.Second})
	p.load(load.Progress{Measuring: true, At: time.Second})
	p.clear()
	for line := range strings.SplitSeq(b.String(), "\r\x1b[K") {
		if utf8.RuneCountInString(line) >= 20 {
			t.Errorf("%q is longer than the terminal is wide", line)
		}
	}
	if text := b.String(); strings.Contains(text, "\n") || strings.Count(text, "\r\x1b[K") != 3 || !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("%q", text)
	}
	n := b.Len()
	p.clear()
	if b.Len() != n {
		t.Error("an empty line was cleared")
	}
}

func TestACompareTakesTwoAddresses(t *testing.T) {
	c := new(loadCall)
	if exit := c.call("--compare", aTarget(t)); exit != ExitUsage || !strings.Contains(c.stderr.String(), "two addresses") {
		t.Errorf("exit code %d: %s", exit, c.stderr.String())
	}
}

// Rounds that are invalid are not a target that fails.
func TestACompareWithoutAValidRound(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	c := new(loadCall)
	if exit := c.call("--compare", "--duration", "10ms", "--no-calibration", s.URL, s.URL); exit != ExitUnusable || !strings.Contains(c.stderr.String(), "invalid") {
		t.Errorf("exit code %d: %s", exit, c.stderr.String())
	}
}
