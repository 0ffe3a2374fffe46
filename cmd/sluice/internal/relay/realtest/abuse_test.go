//go:build linux

package realtest

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/sluicetest/abuse"
)

// tries runs the cases of package abuse, and fails when there are less than there were.
func tries(t *testing.T, address string, atLeast int, o abuse.Options) *abuse.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), lengthened(3*time.Minute))
	defer cancel()
	if o.Within == 0 {
		o.Within, o.Idle = time.Minute, 2*time.Minute
	}
	report, err := abuse.Run(ctx, address, o)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text.String())
	if len(report.Results) < atLeast {
		t.Errorf("%d cases, want %d", len(report.Results), atLeast)
	}
	return report
}

// The relay stands every case, by RTMP and by HTTP, while a stream goes on, and has no
// more descriptors and memory afterwards.
func TestAbuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scheme  string
		atLeast int
	}{{"rtmp", 330}, {"http", 120}} {
		t.Run(c.scheme, func(t *testing.T) {
			t.Parallel() // most of the time is waiting for time limits
			s := serve(t, options{})
			answers(t, s.RTMP)
			address := map[string]string{"rtmp": s.RTMP, "http": s.HTTP}[c.scheme]
			report := tries(t, c.scheme+"://"+address+"/live", c.atLeast, abuse.Options{PID: s.PID})
			if !report.Passed() || len(report.NotLookedAt) > 0 {
				t.Error("something was not as expected, see above")
			}
			if s.ended() {
				t.Error("the server has ended")
			}
		})
	}
}

// answers waits until the server at the address answers a handshake of RTMP: by then it has
// opened what it keeps open.
func answers(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(lengthened(10 * time.Second)))
	if _, err := conn.Write(append([]byte{3}, make([]byte, 1536)...)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// Another server is tried by the same cases. What it does differently is reported, and
// not judged here.
func TestAbuseOfAnotherServer(t *testing.T) {
	t.Parallel()
	address := loopback.Free(t)
	p := nginx(t, "ngx_rtmp_module.so", "rtmp { server { listen "+address+"; application live { live on; idle_streams off; } } }\n", address)
	report := tries(t, "rtmp://"+address+"/live", 330, abuse.Options{PID: p.cmd.Process.Pid, Within: 2 * time.Second, Idle: 5 * time.Second, Parallel: 16})
	judged := 0
	for _, r := range report.Results {
		if r.Seen != "" {
			judged++
		}
	}
	if judged < 300 {
		t.Errorf("%d cases were run", judged)
	}
}
