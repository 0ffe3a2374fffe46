//go:build linux

package realtest

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

func short(target string) load.Plan {
	p := load.Default()
	p.Target, p.Conns = target, 8
	p.Warmup, p.Duration = 50*time.Millisecond, 400*time.Millisecond
	return p
}

func TestNginx(t *testing.T) {
	t.Parallel()
	n := startNginx(t, 50)
	for _, c := range []struct {
		url     string
		options wire.Options
	}{
		{"http://" + n.plain + "/", wire.Options{}},
		{"http://" + n.plain + "/", wire.Options{HTTP: &wire.HTTP{Headers: []string{"Connection: close"}}}},
		{"https://" + n.secure + "/", wire.Options{CA: n.cert}},
		{"https://" + n.secure + "/", wire.Options{CA: n.cert, HTTP: &wire.HTTP{Two: true}}},
	} {
		for _, depth := range []int{1, 5} {
			p := short(c.url)
			p.Requests, p.Depth = c.options, depth
			r := run(t, p)
			if r.Bytes != nginxBody*r.Requests || len(r.Replies) != 1 || r.Replies[0].Class != "2xx" || r.Replies[0].Count != r.Requests {
				t.Errorf("%s, %+v: %d bytes in %d requests, %+v", c.url, c.options, r.Bytes, r.Requests, r.Replies)
			}
			// Of few requests, on a machine that had little time, no connection may have had its 50.
			ended := (max(r.Requests, 50*8) - 50*8) / 100
			if http1 := c.options.HTTP == nil || !c.options.HTTP.Two; http1 && r.Redials < ended {
				t.Errorf("%s: %d connections anew for %d requests, 50 on each", c.url, r.Redials, r.Requests)
			}
		}
	}
	r := run(t, short("http://"+n.plain+"/busy"))
	if r.Valid || len(r.Replies) != 1 || r.Replies[0].Class != "5xx" || !r.Replies[0].Failed {
		t.Errorf("503 is %+v, valid %v", r.Replies, r.Valid)
	}
}

// A server that stands still for a second of five shows in the latency from the time due.
func TestAStallOfNginxIsSeen(t *testing.T) {
	t.Parallel()
	n := startNginx(t, 1_000_000)
	p := short("http://" + n.plain + "/")
	p.Rate, p.Duration = 500, 5*time.Second
	p.LateAfter = time.Minute // the machine may be busy with other tests
	// The machine may stand still as well, so that the run is invalid or all of it slow. A
	// latency without the stall is wrong at once, one with more only where this process went on.
	for try, slow := 0, 0; try < 8; try++ {
		standstills := watchClock()
		r := stalled(t, func(s syscall.Signal) error { return n.Signal(s) }, func() (*load.Result, error) { return load.Run(t.Context(), p, nil) })
		stood := standstills()
		if r.Latency == nil {
			t.Logf("try %d: %+v; this process stood still for %v", try, r.Reasons, stood)
		} else {
			t.Logf("try %d: P50 %v, P99.9 %v, max %v; this process stood still for %v", try, r.Latency.P50, r.Latency.P999, r.Latency.Max, stood)
			if r.Latency.P999 < 900*time.Millisecond {
				t.Fatal("the stall is not seen")
			}
			if r.Latency.P50 <= 500*time.Millisecond && r.Latency.Max <= 3*time.Second {
				return
			}
		}
		if stood > 200*time.Millisecond {
			continue
		}
		if slow++; slow == 4 {
			t.Fatal("more than the stall is seen")
		}
	}
	t.Skip("the machine is too busy to see what is nginx's")
}

// watchClock returns a function that ends the watch, and says for how long in all this process had no
// processor.
func watchClock() (end func() time.Duration) {
	const step = 20 * time.Millisecond
	quit, stood := make(chan struct{}), make(chan time.Duration)
	go func() {
		var sum time.Duration
		for last := time.Now(); ; {
			select {
			case <-quit:
				stood <- sum
				return
			case <-time.After(step):
			}
			now := time.Now()
			sum += max(0, now.Sub(last)-2*step)
			last = now
		}
	}()
	return func() time.Duration {
		close(quit)
		return <-stood
	}
}

// stalled stops a process for a second, one second after a run has begun.
func stalled[T any](t *testing.T, signal func(s syscall.Signal) error, run func() (T, error)) T {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		wait := func() {
			timer := time.NewTimer(time.Second)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		wait()
		err := signal(syscall.SIGSTOP)
		wait()
		if err2 := signal(syscall.SIGCONT); err == nil {
			err = err2
		}
		done <- err
	}()
	r, err := run()
	stop()
	if err2 := <-done; err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return r
}

func TestRedis(t *testing.T) {
	t.Parallel()
	_, addr := startRedis(t, "--requirepass", "secret")
	url := "redis://:secret@" + addr + "/3"
	for _, commands := range [][]string{nil, {"SET key:{rand} {data}", "GET key:{rand}"}, {"RPUSH list{rand} a b {data}", "LRANGE list{rand} 0 -1", "DEL list{rand}"},
		// Each SET is followed by a message that answers nothing.
		{"HELLO 3", "CLIENT TRACKING ON BCAST", "SET a b", "GET a"}} {
		for _, depth := range []int{1, 16} {
			p := short(url)
			p.Depth, p.Sizes = depth, load.Sizes{Min: 1, Max: 3000}
			p.Requests.Redis = &wire.Redis{Commands: commands, Keys: 1000}
			r := run(t, p)
			if len(r.Replies) != 1 || r.Replies[0].Class != "ok" {
				t.Errorf("%q: %+v", commands, r.Replies)
			}
		}
	}
	p := short(url)
	p.Requests.Redis = &wire.Redis{Commands: []string{"SET a b", "INCR a"}}
	r := run(t, p)
	if r.Valid || len(r.Replies) != 2 || r.Replies[1].Class != "error" {
		t.Errorf("%+v, valid %v", r.Replies, r.Valid)
	}
	p = short("redis://:wrong@" + addr)
	if _, err := load.Run(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("a wrong password: %v", err)
	}
}
