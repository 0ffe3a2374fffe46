package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// eventLog is a receiver of events, which is absent at first when asked to be.
type eventLog struct {
	mu     sync.Mutex
	absent bool
	seen   map[string]bool
	list   []hooks.Event
}

func (l *eventLog) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var delivery struct{ Events []hooks.Event }
	if l.absent || json.NewDecoder(r.Body).Decode(&delivery) != nil {
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for _, v := range delivery.Events {
		if !l.seen[v.ID] {
			l.seen[v.ID] = true
			l.list = append(l.list, v)
		}
	}
}

func (l *eventLog) events() []hooks.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]hooks.Event(nil), l.list...)
}

func receiveEvents(t *testing.T, absent bool) (*eventLog, string) {
	l := &eventLog{absent: absent, seen: map[string]bool{}}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	return l, s.URL
}

// Every session gives one begin and one end, with what it was and why it ended,
// also when the server is ended by a signal while the receiver is absent.
func TestEachSessionHasOneBeginAndOneEnd(t *testing.T) {
	log, url := receiveEvents(t, true)
	dir := t.TempDir()
	change := func(c *relayConfig) {
		c.EventHook, c.EventSpool, c.Record = url, filepath.Join(dir, "events"), filepath.Join(dir, "files")
		c.APIToken = "0123456789"
	}
	s := startRelay(t, change)
	bearer := http.Header{"Authorization": {"Bearer 0123456789"}}
	clip := flvtest.Clip(t)
	watched := func(_ *http.Response, r *flvtest.Reader) { // has been sent something
		for range 20 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
	}

	p := s.publishing(t, "/live/a.flv?token=hunter2")
	p.send(t, clip[:40]...)
	watched(s.playing(t, "/live/a.flv?wait=20"))
	s.viewersOf(t, "live/a", 1)
	s.do(t, "DELETE", "/api/clients/v1", bearer)
	s.viewersOf(t, "live/a", 0)
	if status, _ := s.get(t, "/live/missing.flv"); status != 404 {
		t.Errorf("%d", status)
	}
	p.Close()
	p.answered(t)
	relayEventually(t, "the stream has ended", func() bool { return len(s.host.Register.List()) == 0 })

	// These are there when the server ends.
	p = s.publishing(t, "/live/b.flv")
	p.send(t, clip[:40]...)
	watched(s.playing(t, "/live/b.flv?wait=20"))
	s.viewersOf(t, "live/b", 1)
	s.end(t) // as SIGTERM does
	if len(log.events()) != 0 {
		t.Fatal("the receiver was there")
	}

	log.mu.Lock()
	log.absent = false
	log.mu.Unlock()
	next := startRelay(t, change)
	relayEventually(t, "all are delivered", func() bool {
		_, text := next.do(t, "GET", "/metrics", bearer)
		return strings.Contains(text, "\nsluice_events_waiting 0\n")
	})
	count := map[string]int{}
	for _, v := range log.events() {
		if v.Session == "v2" && v.Code == "shutdown" {
			v.Code = "done" // the publisher's end may come to it before the server's
		}
		count[strings.Join([]string{v.Event, v.Stream, v.Session, v.Code}, " ")]++
		end := strings.HasSuffix(v.Event, "_end")
		if end != (v.Bytes != nil) || end && (*v.Bytes < 500 || *v.DurationMS < 0 || v.Reason == "") {
			t.Errorf("%+v", v)
		}
		if sort := strings.HasPrefix(v.Event, "p"); sort && (v.Address == "" || v.Protocol != session.FLV || v.Agent == "") {
			t.Errorf("%+v", v)
		}
		if text, _ := json.Marshal(v); strings.Contains(string(text), "hunter2") {
			t.Errorf("a token in %s", text)
		}
	}
	want := map[string]int{
		"publish_begin live/a p1 ": 1, "publish_end live/a p1 done": 1, "play_begin live/a v1 ": 1, "play_end live/a v1 kicked": 1,
		"publish_begin live/b p2 ": 1, "publish_end live/b p2 shutdown": 1, "play_begin live/b v2 ": 1, "play_end live/b v2 done": 1,
		"record_begin live/a  ": 1, "record_end live/a  ": 1, "record_begin live/b  ": 1, "record_end live/b  ": 1,
		"refused live/missing  not_found": 1,
	}
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("events\n%v, want\n%v", count, want)
	}
	// In order for each stream and session.
	begun := map[string]bool{}
	for _, v := range log.events() {
		what, end := strings.CutSuffix(v.Event, "_end")
		what = strings.TrimSuffix(what, "_begin") + v.Stream + v.Session
		if end != begun[what] {
			t.Errorf("%s of %s out of order", v.Event, v.Stream)
		}
		begun[what] = true
	}
}

// The end of a session that the shutdown cuts off is delivered too, when nothing keeps
// events until the next start.
func TestEventsOfSessionsThatAreCutOff(t *testing.T) {
	log, url := receiveEvents(t, false)
	s := startRelay(t, func(c *relayConfig) { c.EventHook = url })
	p := s.publishing(t, "/live/s.flv")
	p.send(t, flvtest.Clip(t)[:10]...)
	s.received(t, "live/s", 10)
	stuck, _ := s.raw(t, "GET /live/s.flv HTTP/1.1\nHost: a\n\n")
	if err := stuck.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	relayEventually(t, "the viewer has something", func() bool {
		list := s.host.Register.List()
		return len(list) == 2 && list[1].Figures().Bytes > 0
	})
	p.sendMuch(t)
	s.received(t, "live/s", 14)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	log.mu.Lock() // the receiver answers late
	context.AfterFunc(ctx, func() { time.AfterFunc(100*time.Millisecond, log.mu.Unlock) })
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the shutdown cuts nothing off: %v", err)
	}
	if ends := checkPairs(t, log.events(), ""); len(ends) != 2 {
		t.Errorf("%d ends: %+v", len(ends), ends)
	}
}

// Sessions that begin and end at random give pairs, whatever ends them.
func TestEventsOfRandomSessionsArePairs(t *testing.T) {
	log, url := receiveEvents(t, false)
	var s *Server
	t.Run("history", func(t *testing.T) {
		s = balanced(t, func(c *relayConfig) { c.EventHook = url })
	})
	open := map[string]int{}
	for _, v := range log.events() {
		switch v.Event {
		case hooks.PublishBegin, hooks.PlayBegin:
			open[v.Session] += 1
		case hooks.PublishEnd, hooks.PlayEnd:
			open[v.Session] += 10
		}
	}
	for id, n := range open {
		if n != 11 {
			t.Errorf("%s: %d begins and %d ends", id, n%10, n/10)
		}
	}
	began := int64(0)
	for _, n := range s.host.Register.Totals().Began {
		began += n
	}
	if int64(len(open)) != began || began < 10 {
		t.Errorf("events of %d sessions, %d have begun", len(open), began)
	}
}
