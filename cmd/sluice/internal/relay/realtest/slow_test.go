//go:build linux

package realtest

import (
	"fmt"
	"testing"
	"time"
)

const (
	crowd       = 110
	stopping    = 60
	stoppedGone = 75 * time.Second // the server's limit is 10 s
	crowdGrowth = 8 << 20
)

// Most of the viewers stop reading. The others lose nothing, and the server
// gets rid of those who stopped and says why.
func TestViewersThatStopReading(t *testing.T) {
	s := serve(t, options{})
	p := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	f := feedTo(t, p, pace{pad: heavy})
	s.awaitLive(t, "live/s")
	var viewers []*viewer
	for i := range crowd {
		viewers = append(viewers, s.view(t, []string{"flv", "rtmp", "ws"}[i%3], "s", ""))
	}
	for _, v := range viewers {
		v.awaitMedia(t, 100)
	}
	before := resident(t, s.PID)
	highest := highWater(t, s.PID)
	began := time.Now()
	stopped, others := viewers[:stopping], viewers[stopping:]
	for _, v := range stopped {
		close(v.pause)
	}
	for _, v := range stopped {
		<-v.done
	}
	eventually(t, stoppedGone, func() string {
		left := 0
		for _, c := range s.clients(t) {
			if c.Role == "viewer" {
				left++
			}
		}
		if left > len(others) {
			return fmt.Sprintf("%d viewers are left of %d", left, crowd)
		}
		return ""
	})
	took := time.Since(began)
	grown := highest() - before
	t.Logf("%d viewers that stopped were gone after %v; resident memory %d KiB, grown by at most %d KiB", stopping, took.Round(time.Millisecond), before>>10, grown>>10)
	if measured() && grown >= crowdGrowth {
		t.Errorf("the server's memory has grown by %d bytes, at most %d", grown, crowdGrowth)
	}
	// The log comes by a pipe, behind what the API has.
	eventually(t, lengthened(5*time.Second), func() string {
		if info := s.stream(t, "live/s"); info.Viewers != len(others) || info.Evicted != stopping {
			return fmt.Sprintf("the API says %+v, want %d viewers and %d evicted", info, len(others), stopping)
		}
		if said := s.stderr.matches(`viewer ended.*reason="?(live: )?the viewer (takes nothing|is too slow)`); len(said) != stopping {
			ended := s.stderr.matches("viewer ended")
			return fmt.Sprintf("the log has %d lines with the reason; the first viewer's end is %q", len(said), ended[:min(1, len(ended))])
		}
		return ""
	})
	for _, v := range stopped {
		v.awaitEnd(t)
	}
	checkViewers(t, f, others)
}
