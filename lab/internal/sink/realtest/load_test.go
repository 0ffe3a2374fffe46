//go:build linux

package realtest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lab load is the client, as the documentation has it: it redials what is
// killed, and its file of acknowledgements holds.
func TestSluiceLoadAgainstACluster(t *testing.T) {
	t.Parallel()
	r := random(t)
	c := newCluster(t)
	c.start(0, 1, 2)
	acks := filepath.Join(t.TempDir(), "acks")
	p := start(t, "load", "--no-calibration", "--protocol", "ack", "--conns", "4", "--iodepth", "2", "--size", "10..2000",
		"--warmup", "0s", "--duration", "5s", "--redial", "--acks", acks, strings.Join(c.addrs, ","))
	records := func(i int) uint64 { return c.nodes[i].stats(t).Raft.Last }
	more := func(i, n int) {
		t.Helper()
		want := records(i) + uint64(n)
		eventually(t, lengthened(20*time.Second), func() string {
			if records(i) < want && !p.ended() {
				return "no more records"
			}
			return ""
		})
	}
	leader := c.leader()
	more(leader, 10+r.IntN(50))
	c.kill(leader)
	c.start(leader)
	more(c.leader(), 10)
	// An invalid run, on a busy machine, has its acknowledgements too.
	if code := p.wait(t); code != 0 && code != 3 {
		t.Fatalf("lab load ended with %d: %s", code, p.stderr.tail())
	}
	c.term()
	v, code := verify(t, acks, c.dirs...)
	if code != 0 || v.Acked.Entries == 0 || v.Acked.Found != v.Acked.Entries {
		t.Fatalf("verify ended with %d: %+v; %s", code, v, p.stdout.tail())
	}
	t.Logf("%d acknowledged, %d recorded", v.Acked.Entries, v.Logs[0].Records)
}
