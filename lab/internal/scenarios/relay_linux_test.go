package scenarios

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/relay"
)

func TestARelayRoundHasTheFiguresOfBothSides(t *testing.T) {
	for form, floor := range map[string]relayServer{relay.RTMP: floorServer(relayMerge, true), relay.FLV: floorServer(relayMerge, false)} {
		r, err := relayWork{Form: form, Viewers: 40}.open(echoEnv(t), floor)
		orSkip(t, err)
		sample, err := r.Run(1)
		if err != nil {
			t.Fatal(err)
		}
		f := sample.Figures
		if f[framesLost] != 0 || f[viewersClosed] != 0 || f[perGB] <= 0 || f[residentAll] < 1<<20 {
			t.Errorf("%s: %v", form, f)
		}
		if f[p50] <= 0 || f[p99] < f[p50] {
			t.Errorf("%s: a lag of %v and %v ns", form, f[p50], f[p99])
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestViewersThatAreTheLimitGiveNoFigures(t *testing.T) {
	busy := relay.Result{Window: time.Second, Bytes: 1000, CPU: time.Second, Busy: 0.97}
	f := relayWork{}.figures(busy)
	for _, name := range []string{perGB, p50, p99} {
		if v, ok := f[name]; ok {
			t.Errorf("%s is %v", name, v)
		}
	}
	if f[loadBusy] != 0.97 {
		t.Errorf("the viewers worked for %v of the window", f[loadBusy])
	}
}

func TestAServerThatCannotServeIsAnError(t *testing.T) {
	env := echoEnv(t)
	env.Self = "/nonexistent/program"
	t.Setenv(relayProgramEnv, env.Self)
	for name, s := range map[string]relayServer{"sluice": sluiceServer(mergeAlways), "floor": floorServer(0, false)} {
		_, err := relayWork{Form: relay.RTMP, Viewers: 4}.open(env, s)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err == nil {
			t.Errorf("%s of no program was started", name)
		}
	}
}
