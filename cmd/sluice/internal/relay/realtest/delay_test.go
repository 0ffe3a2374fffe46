//go:build linux

package realtest

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// How long a picture is on its way from its publisher to the one viewer, both on this
// machine.
func TestDelays(t *testing.T) {
	long(t, "what a busy machine delays says little")
	const pictures = 300
	for _, c := range []struct {
		name    string
		publish func(testing.TB, *server)
		play    func(testing.TB, *server, *arrivals)
	}{
		{"RTMP to WHEP", stampedByRTMP, func(t testing.TB, s *server, a *arrivals) { beginWHEP(t, s, a.payload) }},
		{"RTSP to RTSP", stampedByRTSP, func(t testing.TB, s *server, a *arrivals) {
			x := beginRTSP(t, s)
			x.frame = func(channel int, p []byte) {
				if channel == 0 && len(p) > 12 {
					a.payload(p[12:], p[1]&0x80 != 0)
				}
			}
			go func() {
				for {
					if ok, err := x.interleaved(); err != nil || !ok {
						return
					}
				}
			}()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, options{})
			c.publish(t, s)
			var a arrivals
			c.play(t, s, &a)
			await := func(n int) (took []time.Duration) {
				eventually(t, lengthened(time.Minute), func() string {
					if took = append(took, a.taken()...); len(took) < n {
						return fmt.Sprintf("%d pictures, want %d", len(took), n)
					}
					return ""
				})
				return took
			}
			await(2 * stampedGroup) // the beginning is as old as its key frame
			took := await(pictures)
			slices.Sort(took)
			p50, p99 := took[len(took)/2], took[len(took)*99/100]
			t.Logf("%s: p50 %v, p99 %v", c.name, p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond))
			if measured() && (p50 > 30*time.Millisecond || p99 > 80*time.Millisecond) {
				t.Errorf("at most 30 ms and 80 ms are allowed")
			}
		})
	}
}
