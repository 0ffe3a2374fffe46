package relay

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
)

// slowLag is Lag in tests of slow lines.
const slowLag = 2 * time.Second

// viewers are the sessions of viewers, in the order in which they came.
func (s *relayServer) viewers() []*session.Client {
	return slices.DeleteFunc(s.host.Register.List(), func(c *session.Client) bool { return c.Role != session.RoleViewer })
}

// slowViewing is what is seen of a viewer while a stream is sent.
type slowViewing struct {
	session.Figures
	late  time.Duration // at most
	still time.Duration // for how long the machine stood still at most
}

// watchViewers looks at the viewers until sent is closed.
func (s *relayServer) watchViewers(sent <-chan struct{}) []slowViewing {
	list := make([]slowViewing, len(s.viewers()))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-sent:
			return list
		case <-tick.C:
		}
		still := time.Since(last)
		last = time.Now()
		for i, c := range s.viewers() {
			v := &list[i]
			v.Figures = c.Figures()
			v.late, v.still = max(v.late, v.Lag), max(v.still, still)
		}
	}
}

// calm reports whether the machine went on all the time.
func (v *slowViewing) calm() bool { return v.still < 250*time.Millisecond }

// judge checks what is left out for a viewer, and that of its pictures not less than least can be
// decoded. A machine that stands still loses packets too, and makes all viewers late.
func (v *slowViewing) judge(t *testing.T, name string, slow bool, good int, least float64) {
	t.Helper()
	if v.late > slowLag+v.still {
		t.Errorf("%s: %v behind, and the machine stood still for %v", name, v.late, v.still)
	}
	switch {
	case slow && (v.Jumps == 0 || v.Dropped == 0):
		t.Errorf("%s: nothing is left out: %+v", name, v.Figures)
	case !v.calm():
		t.Logf("%s: the machine stood still for %v", name, v.still)
	case !slow && (v.Jumps > 0 || v.Dropped > 0):
		t.Errorf("%s: some are left out: %+v", name, v.Figures)
	case float64(good) < least:
		t.Errorf("%s: %d pictures can be decoded, want %.0f", name, good, least)
	}
}

// tagsLength is how long a clip is that is sent again and again.
func tagsLength(tags []flvtest.Tag) time.Duration {
	return time.Duration(tags[len(tags)-1].Time+20) * time.Millisecond
}

// tagsRate is that of a clip in bytes a second.
func tagsRate(tags []flvtest.Tag) float64 {
	size := 0
	for _, g := range tags {
		size += len(g.Payload)
	}
	return float64(size) / tagsLength(tags).Seconds()
}

// rounds sends a clip again and again for some time; sent is closed then.
func (p *relayPipe) rounds(t *testing.T, tags []flvtest.Tag, length time.Duration) (sent chan struct{}) {
	sent = make(chan struct{})
	go func() {
		defer close(sent)
		begun := time.Now()
		rtcRound(t, p, tags, func() bool { return time.Since(begun) < length })
	}()
	return sent
}

// decodable is how many of the pictures that came are a key frame, or follow all others of
// their group. all are those of the clip.
func decodable(t *testing.T, tags []flvtest.Tag, all, came []string) (n int) {
	t.Helper()
	keys := map[string]bool{}
	for _, g := range tags {
		if h, err := flv.ParseVideo([]byte(g.Payload)); g.Type == flv.TagVideo && err == nil && h.Key() && !h.Config() {
			keys[sumsOf(t, []flvtest.Tag{g}, true)[0]] = true
		}
	}
	at := -2
	for _, sum := range came {
		if i := slices.Index(all, sum); keys[sum] || i >= 0 && i == at+1 {
			at = i
			n++
		}
	}
	return n
}
