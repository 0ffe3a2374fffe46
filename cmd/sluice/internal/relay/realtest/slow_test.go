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
	stoppedGone = 75 * time.Second // the limit is 10 s, when what the kernel keeps is full
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
	eventually(t, lengthened(stoppedGone), func() string {
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
	checkThoseWhoRead(t, s, f, others)
}

// checkThoseWhoRead checks that viewers lost nothing. The race detector makes this program slow, and
// one of its viewers that a busy machine held up for longer than the server lets them be late is
// moved on: most may not be, and the server has to say so of each.
func checkThoseWhoRead(t *testing.T, s *server, f *feed, viewers []*viewer) {
	t.Helper()
	published := f.finish(t)
	for _, v := range viewers {
		v.awaitLast(t, published[len(published)-1])
	}
	late := map[string]bool{}
	for _, c := range s.clients(t) {
		late[c.Address] = c.Jumps > 0
	}
	moved := 0
	for _, v := range viewers {
		err := run(v.media(), published)
		if err != nil && late[v.conn.LocalAddr().String()] {
			moved++
		} else if err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	}
	if moved > 0 && (measured() || moved > len(viewers)/2) {
		t.Errorf("%d of %d viewers that read were moved on", moved, len(viewers))
	}
}
