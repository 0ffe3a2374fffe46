package scenarios

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

func echoEnv(t *testing.T) lab.Env {
	return lab.Env{Seed: 5, Dir: t.TempDir(), Self: self(t), Quick: true}
}

// orSkip fails the test unless the machine is the reason for err.
func orSkip(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func startEchoPair(t *testing.T, server string, size int) *echoPair {
	t.Helper()
	p, err := newEchoPair(echoEnv(t), server, size)
	orSkip(t, err)
	t.Cleanup(func() { p.close() })
	return p
}

func TestServerAndClientHaveAProcessorEach(t *testing.T) {
	p := startEchoPair(t, "floor", 128)
	allowed := func(c *child.Process) string {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID()))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(line)
	}
	server, client := allowed(p.server), allowed(p.client)
	if server == "" || server == client || strings.ContainsAny(server+client, ",-") {
		t.Errorf("the server is on %q, the client on %q", server, client)
	}
	// This process is as free as before.
	if n := runtime.NumCPU(); n < 2 {
		t.Errorf("%d processors", n)
	}
}

func TestAnEchoRunHasTheFiguresOfBothSides(t *testing.T) {
	for _, w := range []echoWork{
		{size: 128, conns: 20},
		{size: 128, conns: 20, rate: 20_000},
	} {
		r, err := w.open(echoEnv(t), "std-pooled")
		orSkip(t, err)
		const ops = 500
		began := time.Now()
		sample, err := r.Run(ops)
		took := time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		if sample.Bytes != ops*128 || sample.Check != echobench.Sum(ops) {
			t.Errorf("%+v: %d bytes, sum %#x", w, sample.Bytes, sample.Check)
		}
		f := sample.Figures
		if f[lab.CPUPerOp] <= 0 || f[lab.CPUPerOp]*ops > float64(took) {
			t.Errorf("%+v: a server on one processor used %.0f ns for each of %d operations in %v", w, f[lab.CPUPerOp], ops, took)
		}
		if rate := ops / (f[lab.NsPerOp] * ops / 1e9); f[perSecond] < 0.999*rate || f[perSecond] > 1.001*rate {
			t.Errorf("%+v: %.0f req/s, %.0f ns for each of %d operations", w, f[perSecond], f[lab.NsPerOp], ops)
		}
		if w.rate > 0 && (f[p50] <= 0 || f[p99] < f[p50] || f[perSecond] > 1.01*float64(w.rate)) {
			t.Errorf("%+v: %v", w, f)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAWaveComesAndGoes(t *testing.T) {
	const conns = 300
	for _, server := range []string{"aio", "aio-conns", "aio-tls", "std-tls", "std-pooled", "netpoll", "floor"} {
		r, err := newEchoWave(echoEnv(t), server, conns)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Logf("%s: %v", server, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Run(2)
		if err != nil {
			t.Fatalf("%s: %v", server, err)
		}
		if want := int64(2 * (1 + echoWaveRounds) * conns << 10); got.Bytes != want || got.Figures[perRequest] <= 0 {
			t.Errorf("%s: two waves came to %d bytes, want %d: %v", server, got.Bytes, want, got.Figures)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestIdleConnectionsAreCountedInResidentBytes(t *testing.T) {
	r, err := newIdle(echoEnv(t), "std-4K", idleWork{"rss", residentBy, 128, 1000, 512})
	orSkip(t, err)
	got, err := r.Run(1)
	if err != nil {
		t.Fatal(err)
	}
	// Each has a stack of 2 KiB and a buffer of 4 KiB, of which the first page is
	// touched.
	if each := got.Figures[residentBy]; each < 5000 || each > 30_000 {
		t.Errorf("%.0f resident bytes for each connection with a buffer of 4 KiB", each)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Of a bufio.Reader all that its connection adds to a bare one is the buffer and a few words.
func TestIdleConnectionsAreCountedInLiveBytes(t *testing.T) {
	sc := idleGroup()[0]
	for _, v := range sc.Variants {
		if v.Name != "bufio-4K" && v.Name != "std-pooled" {
			continue
		}
		r, err := v.Open(echoEnv(t))
		orSkip(t, err)
		got, err := r.Run(1)
		if err != nil {
			t.Fatal(err)
		}
		// Stacks lie in spans of 32 KiB, which count whole: how full they are depends on
		// which goroutines ran at the same time.
		spans := 24 * float64(32<<10) / got.Figures[connCount]
		want := 0.0
		if v.Name == "bufio-4K" {
			want = 4096 + 200
		}
		if above := got.Figures[aboveBare]; above < want-spans || above > want+spans {
			t.Errorf("%s: %.0f bytes above a bare connection", v.Name, above)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestADeadServerIsAnError(t *testing.T) {
	p := startEchoPair(t, "floor", 128)
	if _, err := p.do("connect", 3); err != nil {
		t.Fatal(err)
	}
	p.server.Stop()
	if _, err := (echoWork{size: 128, conns: 3}).run(p, 100); err == nil || !strings.Contains(err.Error(), "echo-client") && !strings.Contains(err.Error(), "the child ended") {
		t.Errorf("the server is gone: %v", err)
	}
	if _, err := askFor[proc.Usage](p.server, "usage"); err == nil {
		t.Error("a dead server says what it used")
	}
}

func TestADeadClientIsAnError(t *testing.T) {
	p := startEchoPair(t, "floor", 128)
	p.client.Stop()
	if _, err := p.do("connect", 3); err == nil {
		t.Error("a dead client connects")
	}
}

func TestQuickRunsHaveFewerConnections(t *testing.T) {
	for _, c := range []struct {
		env  lab.Env
		want int
	}{{lab.Env{Full: true}, 30}, {lab.Env{}, 20}, {lab.Env{Quick: true}, 10}} {
		if got := scaled(c.env, 30, 20, 10); got != c.want {
			t.Errorf("%+v: %d connections, want %d", c.env, got, c.want)
		}
	}
}
