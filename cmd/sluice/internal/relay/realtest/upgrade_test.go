//go:build linux

package realtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// upgrade starts a server that takes over from s, again where a busy machine takes longer
// than may be: then s goes on.
func (s *server) upgrade(t *testing.T, line string) *server {
	t.Helper()
	args := append([]string{"serve", "--json", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--upgrade"}, strings.Fields(line)...)
	for try := 1; ; try++ {
		next := &server{process: start(t, []string{"SLUICE_API_TOKEN=" + apiToken}, sluice(t), args...)}
		text := ""
		eventually(t, lengthened(20*time.Second), func() string {
			line, _, whole := strings.Cut(next.stdout.String(), "\n")
			if text = line; !whole && !next.ended() {
				return "no line on standard output: " + next.stderr.tail(5)
			}
			return ""
		})
		if !next.ended() {
			if err := json.Unmarshal([]byte(text), next); err != nil {
				t.Fatalf("%v: %q", err, text)
			}
			t.Cleanup(func() { next.stop(t) })
			return next
		}
		if try == 10 || s.ended() {
			t.Fatalf("no upgrade: %s\nthe old one: %s", next.stderr.tail(5), s.stderr.tail(5))
		}
		t.Logf("try %d: %s", try, next.stderr.tail(2))
	}
}

// Servers replace each other while streams are published and watched, and no session ends or misses a frame.
func TestUpgrades(t *testing.T) {
	publishers, viewers, upgrades, longest := 2, 12, 3, 5*time.Minute
	if os.Getenv("SLUICE_LONG") != "" {
		publishers, viewers, upgrades = 5, 100, 20
		longest = 20 * time.Minute
	}
	line := "--rtsp off --webrtc off --srt off --grace 0s --upgrade-socket " + filepath.Join(t.TempDir(), "s")
	s := serve(t, flags(line))
	var feeds []*feed
	var closers []func()
	for i := range publishers {
		name := fmt.Sprintf("s%d", i)
		conn := dial(t, s.RTMP, false)
		until(conn, longest)
		to, err := publishRTMP(conn, "live", name)
		if err != nil {
			t.Fatal(err)
		}
		feeds = append(feeds, feedTo(t, to, pace{}))
		closers = append(closers, func() { conn.Close() })
		s.awaitLive(t, "live/"+name)
	}
	var watching []*viewer
	for i := range viewers {
		v := s.view(t, []string{"rtmp", "flv", "ws"}[i%3], fmt.Sprintf("s%d", i%publishers), "")
		until(v.conn, longest)
		watching = append(watching, v)
	}
	for _, v := range watching {
		v.awaitMedia(t, 20)
	}
	took := regexp.MustCompile(`handed over.* publishers=(\d+) viewers=(\d+) took=(\S+)`)
	var pause time.Duration
	for n := range upgrades {
		next := s.upgrade(t, line)
		if next.RTMP != s.RTMP || next.HTTP != s.HTTP {
			t.Fatalf("it listens at %s and %s, the old one at %s and %s", next.RTMP, next.HTTP, s.RTMP, s.HTTP)
		}
		if exit := s.wait(t, lengthened(20*time.Second)); exit != 0 {
			t.Errorf("upgrade %d: exit %d: %s", n, exit, s.stderr.tail(10))
		}
		m := took.FindStringSubmatch(s.stderr.String())
		if m == nil || m[1] != fmt.Sprint(publishers) || m[2] != fmt.Sprint(viewers) {
			t.Fatalf("upgrade %d: %q; the log ends with\n%s", n, m, s.stderr.tail(10))
		}
		d, err := time.ParseDuration(m[3])
		if err != nil {
			t.Fatal(err)
		}
		pause = max(pause, d)
		s = next
		for _, v := range watching {
			v.awaitMedia(t, len(v.media())+10)
		}
	}
	t.Logf("%d upgrades with %d publishers and %d viewers, the longest pause %v", upgrades, publishers, viewers, pause)
	var sent [][]digest
	for i, f := range feeds {
		sent = append(sent, f.finish(t))
		closers[i]()
	}
	for i, v := range watching {
		receive(t, lengthened(20*time.Second), "end of "+v.name, v.done)
		published := sent[i%publishers]
		got := v.media()
		checkRun(t, fmt.Sprintf("viewer %d, %s", i, v.name), got, published)
		if last := published[len(published)-1]; len(got) > 0 && got[len(got)-1] != last {
			t.Errorf("viewer %d, %s: the last packet is %+v, want %+v", i, v.name, got[len(got)-1], last)
		}
	}
}
