//go:build linux

package relay

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/loopback"
)

// without are the kinds of an older version, which does not know one of them.
func without(kind string) []string {
	return slices.DeleteFunc(slices.Clone(carried), func(k string) bool { return k == kind })
}

// refusesOlder fails the test unless a version that would forget that kind is refused, with
// the reason, before anything stands still.
func (s *relayServer) refusesOlder(t *testing.T, kind string) {
	t.Helper()
	here, there := handoverPair(t)
	given := make(chan error, 1)
	go func() { given <- s.HandOver(handoverConn(t, here)) }()
	c := handoverConn(t, there)
	if err := c.Send(handover.KindHello, handover.Hello{Format: handover.Format, Version: "older", Kinds: without(kind)}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Receive(); !errors.Is(err, handover.ErrRefused) || !strings.Contains(err.Error(), kind) {
		t.Errorf("a version without %s gets %v", kind, err)
	}
	if err := <-given; !errors.Is(err, errNotMovable) {
		t.Errorf("a version without %s: %v", kind, err)
	}
	s.log.line(t, "no upgrade", kind)
}

// statusOf is that of the push of a target.
func (s *relayServer) statusOf(id string) (one push.Status) {
	for _, status := range s.web.Pushes.List() {
		if status.ID == id {
			one = status
		}
	}
	return one
}

// Targets that were added over the API are pushed to after an upgrade as before, under
// their ids; one that is away is not tried as if it were new. No log has their keys.
func TestUpgradeKeepsPushes(t *testing.T) {
	const key = "hunter2hunter2"
	settled := "live/*=rtmp://" + loopback.Free(t) + "/live/" + key
	s, far := relayAndFar(t, func(c *relayConfig) {
		c.RTMP, c.APIToken, c.Push = "127.0.0.1:0", pushAPIToken, []string{settled}
	})
	first := s
	add := func(pattern, address string) {
		t.Helper()
		if status, text := s.asked(t, "POST", "/api/pushes", fmt.Sprintf(`{"pattern":%q,"url":%q}`, pattern, address)); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	add("live/*", "rtmp://"+far.Addresses()["rtmp"]+"/live/"+key+"*")
	add("live/*", "rtmp://"+loopback.Free(t)+"/live/"+key)
	add("other/*", "rtmp://127.0.0.1:1/live/"+key)
	s.web.Pushes.Remove("t3")
	p := rtmpPush(t, s.Server, "rtmp", "live", "s")
	if err := p.send(rtmpClip()[:20]); err != nil {
		t.Fatal(err)
	}
	away := func(id string) bool { q := s.statusOf(id); return q.State == push.Waiting && q.Tries > 1 }
	relayEventually(t, "one target has it, and two were tried", func() bool {
		return far.host.Register.Number(session.RolePublisher) == 1 && s.statusOf("t1").State == push.Live && away("t2") && away("")
	})
	before, was := s.web.Pushes.Added(), s.web.Pushes.List()
	s.refusesOlder(t, pushesKind)

	s = upgradeRelay(t, s)
	if after := s.web.Pushes.Added(); !slices.Equal(after, before) {
		t.Errorf("targets are %+v, were %+v", after, before)
	}
	for _, old := range was {
		now := s.statusOf(old.ID)
		if now.Tries < old.Tries || now.Target != old.Target || now.Error != old.Error || now.Bytes < old.Bytes {
			t.Errorf("%+v, was %+v", now, old)
		}
	}
	relayEventually(t, "the target has it again", func() bool {
		// Media makes the push one that goes on.
		if err := p.send(rtmpClip()[20:21]); err != nil {
			t.Fatal(err)
		}
		return far.host.Register.Number(session.RolePublisher) == 1 && s.statusOf("t1").State == push.Live
	})
	if q := s.statusOf("t1"); q.Error != "" {
		t.Errorf("it was refused: %+v", q)
	}
	add("other/*", "rtmp://127.0.0.1:1/live/"+key)
	if list := s.web.Pushes.Added(); list[len(list)-1].ID != "t4" {
		t.Errorf("the next target is %+v", list[len(list)-1])
	}
	if strings.Contains(first.log.String()+s.log.String(), key) {
		t.Error("a key is in the log")
	}
	for _, target := range s.web.Pushes.Added() {
		s.web.Pushes.Remove(target.ID)
	}
	relayEventually(t, "the push has ended", func() bool { return far.host.Register.Number(session.RolePublisher) == 0 })
	if err := carries(without(pushesKind), s.upgrades.orders); err != nil {
		t.Errorf("without such targets: %v", err)
	}
}

// A stream whose recording was begun over the API is recorded after an upgrade, and one
// whose recording was ended is not.
func TestUpgradeKeepsOrderedRecordings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	s := startRelay(t, func(c *relayConfig) { c.RTMP, c.Record, c.RecordAll = "127.0.0.1:0", dir, false })
	control := func(stream string, on bool) {
		t.Helper()
		if err := s.outbound.recorders.control(stream, on, s.host.Hub); err != nil {
			t.Fatal(err)
		}
	}
	control("live/a", true)
	control("live/c", true)
	control("live/c", false)
	var push []*rtmpClient
	for _, name := range []string{"a", "b", "c"} {
		p := rtmpPush(t, s.Server, "rtmp", "live", name)
		if err := p.send(rtmpClip()[:20]); err != nil {
			t.Fatal(err)
		}
		push = append(push, p)
	}
	active := func(n int64) func() bool {
		return func() bool { return s.outbound.recorders.list()[0].Stats().Active == n }
	}
	relayEventually(t, "one is recorded", active(1))
	before := s.outbound.recorders.orders()
	s.refusesOlder(t, recordingsKind)
	s = upgradeRelay(t, s)
	if after := s.outbound.recorders.orders(); len(before) != 2 || !maps.Equal(after, before) {
		t.Errorf("ordered are %v, were %v", after, before)
	}
	relayEventually(t, "one is recorded still", active(1))
	for _, p := range push {
		if err := p.send(rtmpClip()[20:30]); err != nil {
			t.Fatal(err)
		}
		p.close()
	}
	relayEventually(t, "it has ended", active(0))
	if files := recordFiles(t, dir); len(files) != 2 || !strings.HasPrefix(filepath.Base(files[1]), "a-") {
		t.Errorf("files %q, want one of each server", files)
	}
}

// What is recorded over several upgrades is all that was published, and nothing twice: a
// file begins with the key frame that the one before ends at.
func TestUpgradeDividesRecordingsAtAKeyFrame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	s := startRelay(t, func(c *relayConfig) { c.RTMP, c.Record = "127.0.0.1:0", dir })
	x := newCrossing(t)
	x.publish(s, "a")
	relayEventually(t, "the stream", func() bool { _, ok := s.host.Hub.Stream("live/a"); return ok })
	x.watch(s, "live/a", 0)
	s.viewersOf(t, "live/a", 3)
	for range 3 {
		x.frames(120)
		s = upgradeRelay(t, s)
	}
	x.frames(120)
	x.finish()
	relayEventually(t, "the last file has ended", func() bool { return s.outbound.recorders.list()[0].Stats().Active == 0 })
	var files [][]rtmpFrame
	for _, name := range recordFiles(t, dir) {
		list := slices.DeleteFunc(recordRead(t, name), func(f rtmpFrame) bool { return f.Type != flv.TagVideo || ofHeader(f) })
		if len(list) == 0 || number(list[0])%keyEvery != 0 {
			t.Fatalf("%s: %d frames, which do not begin with a key frame", name, len(list))
		}
		files = append(files, list)
	}
	slices.SortFunc(files, func(a, b []rtmpFrame) int { return number(a[0]) - number(b[0]) })
	for i, f := range slices.Concat(files...) {
		if number(f) != i {
			t.Fatalf("frame %d is number %d", i, number(f))
		}
	}
	if n, sent := len(slices.Concat(files...)), len(x.sent["live/a"]); len(files) != 4 || n > sent || sent-n >= keyEvery {
		t.Errorf("%d of %d frames in %d files", n, sent, len(files))
	}
}
