package relay

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/streamdoctor"
)

// Faults of a hundred real streams, in one relay and side by side, are named right within
// 5 s, at least 95 of 100, and none of the healthy ones is accused.
func TestStreamDoctorOfManyStreams(t *testing.T) {
	if os.Getenv("SLUICE_LONG") == "" {
		t.Skip("set SLUICE_LONG=1; TestStreamDoctor has one stream of each fault")
	}
	s := startRelay(t, func(c *relayConfig) { c.RTMP, c.Grace = "127.0.0.1:0", 10*time.Minute })
	kinds := []string{"", streamdoctor.EncoderSlow, streamdoctor.PublisherLine, streamdoctor.EncoderStopped, streamdoctor.ViewerLine}
	var mu sync.Mutex
	faults, right := 0, 0
	for round := range 5 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			stop := make(chan struct{})
			want := map[string]string{}
			for n := range 25 { // the doctor looks at 32 at a time
				code := kinds[n%len(kinds)]
				name := fmt.Sprintf("r%d-%d", round, n)
				speed, bytes, over := 1.0, 0, (<-chan struct{})(nil)
				switch code {
				case streamdoctor.EncoderSlow:
					speed = 0.5 + 0.015*float64(n)
				case streamdoctor.PublisherLine:
					bytes = 80_000 + 2000*n
				case streamdoctor.EncoderStopped:
					over = stop
				}
				paced(t, s, name, speed, bytes, over)
				want["live/"+name] = code
			}
			for name, code := range want {
				rtmpUntil(t, name+" has frames", func() bool {
					st, ok := s.host.Hub.Stream(name)
					return ok && st.Stats().FramesIn > 5
				})
				if code == streamdoctor.ViewerLine {
					stuck, _ := s.raw(t, "GET /"+name+".flv HTTP/1.1\nHost: a\n\n")
					if err := stuck.(*net.TCPConn).SetReadBuffer(4096); err != nil {
						t.Fatal(err)
					}
				}
			}
			rtmpUntil(t, "viewers are behind", func() bool {
				for _, c := range s.host.Register.List() {
					if c.Role == "viewer" && c.Figures().Lag < 2*time.Second {
						return false
					}
				}
				return true
			})
			close(stop)
			var asking sync.WaitGroup
			for name, code := range want {
				asking.Go(func() {
					began := time.Now()
					codes, text := doctored(t, s, name)
					took := time.Since(began)
					mu.Lock()
					defer mu.Unlock()
					if code == "" {
						if len(codes) > 0 {
							t.Errorf("healthy %s is accused: %s", name, text)
						}
						return
					}
					faults++
					if len(codes) == 1 && codes[0] == code && took < 5*time.Second {
						right++
					} else {
						t.Logf("%s: want %s within 5 s, got in %v: %s", name, code, took, text)
					}
				})
			}
			asking.Wait()
		})
	}
	t.Logf("%d of %d faults are named right", right, faults)
	if right*100 < faults*95 {
		t.Errorf("%d of %d faults are named right", right, faults)
	}
}
