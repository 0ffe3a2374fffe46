package relay

import (
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pion/rtcp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
)

// A viewer over UDP on a line that carries a part of the stream is sent what that carries, and
// groups of pictures are left out; one on a line that just suffices, or that loses some packets,
// is sent all.
func TestRTSPOverASlowLine(t *testing.T) {
	if os.Getenv("SLUICE_LONG") == "" {
		t.Skip("set SLUICE_LONG: it takes 40 s, and a machine that stands still loses packets too")
	}
	const (
		length = 40 * time.Second
		queue  = 300 * time.Millisecond
	)
	s := startRelay(t, func(c *relayConfig) { c.RTSP, c.RTSPUDP, c.times.Lag = "127.0.0.1:0", "127.0.0.1:0", slowLag })
	tags := flvtest.Clip(t)
	rate := tagsRate(tags)
	p := s.publishing(t, "/live/s.flv")
	sent := p.rounds(t, tags, length)
	s.streaming(t, "live/s")
	lines := []struct {
		name  string
		path  srtPath
		every time.Duration // the time between reports
		slow  bool
		least float64 // of the pictures can be decoded
	}{
		{"0.3 of the stream, a report each second", narrow(0.3*rate, queue), time.Second, true, 0.04},
		{"0.5 of the stream, a report each second", narrow(0.5*rate, queue), time.Second, true, 0.12},
		{"0.8 of the stream, a report each second", narrow(0.8*rate, queue), time.Second, true, 0.25},
		{"0.5 of the stream, a report each 5 s", narrow(0.5*rate, queue), 5 * time.Second, true, 0.07},
		{"0.5 of the stream, a report each 50 ms", narrow(0.5*rate, queue), 50 * time.Millisecond, true, 0.12},
		{"1.5 of the stream", narrow(1.5*rate, queue), time.Second, false, 0.75},
		{"4 % lost", losing(t, 4), time.Second, false, 0},
	}
	var viewers []*rtspViewer
	var proxies []*rtspProxy
	for i, l := range lines {
		proxy := rtspLine(t, s.Addresses()["rtsp"], l.path)
		proxies = append(proxies, proxy)
		viewers = append(viewers, rtspWatch(t, s, proxy.address(), "live/s", l.every))
		relayEventually(t, "the viewer is there", func() bool { return len(s.viewers()) == i+1 })
	}
	list := s.watchViewers(sent)
	all := allSums(t, tags)
	want := int(float64(len(all)) * float64(length) / float64(tagsLength(tags)))
	for i, v := range viewers {
		l, whole := lines[i], v.got()
		good := decodable(t, tags, all, whole)
		t.Logf("%s: %+v; of %d pictures %d are whole and %d can be decoded; %d of %d packets lost", l.name, list[i], want, len(whole), good, proxies[i].lost.Load(), proxies[i].all.Load())
		list[i].judge(t, l.name, l.slow, good, l.least*float64(want))
	}
	p.Close()
}

func (v *rtspViewer) got() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.units[true])
}

// losing is a path that loses so many percent.
func losing(t *testing.T, percent int) srtPath {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 1))
	return func(int) (time.Time, bool) {
		mu.Lock()
		defer mu.Unlock()
		return time.Now(), r.IntN(100) >= percent
	}
}

// What a viewer's reports say of its line is heard: pictures are left out for one that misses
// half of the packets. Reports of whatever kind harm no other viewer. On a machine that stands
// still pictures are left out for all: then it is tried again.
func TestRTSPHearsOfLosses(t *testing.T) {
	const tries = 3
	for try := 1; ; try++ {
		jumps := rtspJumpsByReports(t)
		if jumps[0] == 0 && jumps[2] == 0 && jumps[3] == 0 {
			return
		}
		if try == tries {
			t.Fatalf("pictures are left out for others: %v", jumps)
		}
	}
}

// rtspJumpsByReports returns how often pictures were left out for each of four viewers, when they were
// for the second, which reports losses. The first reports nothing.
func rtspJumpsByReports(t *testing.T) (of [4]int64) {
	s := startRelay(t, func(c *relayConfig) {
		c.RTSP, c.RTSPUDP, c.times.Lag = "127.0.0.1:0", "127.0.0.1:0", 200*time.Millisecond
	})
	p := s.publishing(t, "/live/s.flv")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	tags := flvtest.Clip(t)
	var list []*rtspViewer
	late := time.Now().Add(relayWait)
	rtcRound(t, p, tags, func() bool {
		st, ok := s.host.Hub.Stream("live/s")
		// What there is of the group of pictures by then, more than a second, comes at once, and
		// does not make the packets' publisher one that is too fast.
		if !ok || st.Stats().FramesIn <= 125 {
			return true
		}
		if len(list) < 4 {
			list = append(list, rtspWatch(t, s, s.Addresses()["rtsp"], "live/s", time.Hour))
			relayEventually(t, "the viewer is there", func() bool { return len(s.viewers()) == len(list) })
			return true
		}
		for i, v := range list[1:] {
			v.mu.Lock()
			on, last := v.ssrc, uint32(v.last)
			v.mu.Unlock()
			switch i {
			case 0: // half is lost
				v.report(rtcp.ReceptionReport{SSRC: on, LastSequenceNumber: last, FractionLost: 128})
			case 1: // of another source, and many
				for range 50 {
					v.report(rtcp.ReceptionReport{SSRC: on + 1, LastSequenceNumber: last, FractionLost: 255})
				}
			case 2: // nonsense
				v.report(rtcp.ReceptionReport{SSRC: on, LastSequenceNumber: r.Uint32(), FractionLost: 255})
				b := make([]byte, r.IntN(60))
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				if len(b) > 1 {
					b[0], b[1] = b[0]&63|128, 200+b[1]%2
				}
				_, _ = v.reports.WriteToUDPAddrPort(b, v.server)
			}
		}
		for i, c := range s.viewers() {
			of[i] = c.Figures().Jumps
		}
		if of[1] == 0 && time.Now().After(late) {
			t.Fatalf("no pictures are left out: %v", of)
		}
		return of[1] == 0
	})
	p.Close()
	return of
}

// report sends a report on pictures.
func (v *rtspViewer) report(r rtcp.ReceptionReport) {
	v.t.Helper()
	p, err := (&rtcp.ReceiverReport{SSRC: 1, Reports: []rtcp.ReceptionReport{r}}).Marshal()
	if err != nil {
		v.t.Fatal(err)
	}
	_, _ = v.reports.WriteToUDPAddrPort(p, v.server)
}
