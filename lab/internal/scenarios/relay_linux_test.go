package scenarios

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/relay"
)

func TestARelayRoundHasTheFiguresOfBothSides(t *testing.T) {
	for _, form := range []string{relay.RTMP, relay.FLV} {
		r, err := relayWork{form: form, viewers: 40}.open(echoEnv(t), floorServer(relayMerge))
		orSkip(t, err)
		sample, err := r.Run(1)
		if err != nil {
			t.Fatal(err)
		}
		f := sample.Figures
		if f[framesLost] != 0 || f[viewersClosed] != 0 || f[perGB] <= 0 || f[residentAll] < 1<<20 {
			t.Errorf("%s: %v", form, f)
		}
		if !math.IsNaN(f[allocsPerFrame]) {
			t.Errorf("%s: a floor says that it allocates %v for each frame", form, f[allocsPerFrame])
		}
		if at := f[windowsP50] * float64(relayMerge); f[p50] <= 0 || math.Abs(at-f[p50]) > 1 {
			t.Errorf("%s: a lag of %v ns is %v windows", form, f[p50], f[windowsP50])
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestViewersThatAreTheLimitGiveNoFigures(t *testing.T) {
	busy := relay.Result{Window: time.Second, Bytes: 1000, CPU: time.Second, Busy: 0.97}
	f := (&relayRunner{}).figures(busy, 0)
	for _, name := range []string{perGB, p50, p99, windowsP50, windowsP99} {
		if v, ok := f[name]; ok {
			t.Errorf("%s is %v", name, v)
		}
	}
	if f[loadBusy] != 0.97 {
		t.Errorf("the viewers worked for %v of the window", f[loadBusy])
	}
}

// fakeAPI answers like a server whose allocations rise by 100,000 with each question.
func fakeAPI(t *testing.T, merge string) (*relayStarted, *int) {
	t.Helper()
	count := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/debug/pprof/heap":
			fmt.Fprintf(w, "# runtime.MemStats\n# MallocsOfOthers = 7\n# Mallocs = 1%03d000\n# TotalAlloc = 1\n# NumGC = 0\n# HeapInuse = 1\n# PauseNs = [%s]\n",
				count, strings.Repeat("0 ", 256))
			count += 100
		case "/api/streams":
			fmt.Fprintf(w, `{"server":{%s}}`, merge)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	at := strings.TrimPrefix(s.URL, "http://")
	return &relayStarted{api: at, profiles: at}, &count
}

func TestAskingForAllocationsIsNotCounted(t *testing.T) {
	s, count := fakeAPI(t, "")
	since, err := s.allocations()
	if err != nil {
		t.Fatal(err)
	}
	*count += 42
	if got, err := since(); err != nil || got != 42_000 {
		t.Errorf("%v allocations, %v", got, err)
	}
	// A server without profiles has no figure.
	since, err = (&relayStarted{}).allocations()
	if got, e := since(); err != nil || e != nil || !math.IsNaN(got) {
		t.Errorf("%v, %v, %v", got, err, e)
	}
}

func TestAServerThatMergesOtherwiseIsNotComparedWithTheFloor(t *testing.T) {
	for merge, fits := range map[string]bool{`"merge_ms":95`: true, `"merge_ms":100`: false, `"merge_ms":0`: false, ``: false} {
		s, _ := fakeAPI(t, merge)
		if err := s.merges(95 * time.Millisecond); (err == nil) != fits {
			t.Errorf("%s: %v", merge, err)
		}
	}
	s, _ := fakeAPI(t, `"merge_ms":0`)
	if err := s.merges(0); err != nil {
		t.Error(err)
	}
	if _, err := get(s.api, "/nowhere"); err == nil {
		t.Error("what is not there was found")
	}
}

func TestAServerThatCannotServeIsAnError(t *testing.T) {
	env := echoEnv(t)
	env.Self = "/nonexistent/program"
	t.Setenv(relayProgramEnv, env.Self)
	for name, s := range map[string]relayServer{"sluice": sluiceServer(relayMerge), "floor": floorServer(0)} {
		_, err := relayWork{form: relay.RTMP, viewers: 4}.open(env, s)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err == nil {
			t.Errorf("%s of no program was started", name)
		}
	}
}
