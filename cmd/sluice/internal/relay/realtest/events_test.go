//go:build linux

package realtest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// event is what a receiver gets of one.
type event struct {
	ID, Event, Stream, Session, Code string
	Bytes                            *int64
}

// eventReceiver answers 503 until it is there.
type eventReceiver struct {
	mu    sync.Mutex
	there bool
	list  []event
	seen  map[string]bool
}

func (r *eventReceiver) ServeHTTP(rw http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var delivery struct{ Events []event }
	if !r.there || json.NewDecoder(q.Body).Decode(&delivery) != nil {
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for _, v := range delivery.Events {
		if !r.seen[v.ID] {
			r.seen[v.ID] = true
			r.list = append(r.list, v)
		}
	}
}

// begunIn is how many sessions began, by the events in a spool.
func begunIn(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		n += strings.Count(string(text), `_begin"`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Events of a process that SIGTERM ends while their receiver is absent are
// delivered by the next one; those of a process that was killed too, up to then.
func TestEventsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(s *server)
		ends int
	}{
		{"SIGTERM", func(s *server) { s.signal(t, syscall.SIGTERM) }, 4},
		{"SIGKILL", func(s *server) { s.kill() }, 0},
	} {
		r := &eventReceiver{seen: map[string]bool{}}
		h := httptest.NewServer(r)
		defer h.Close()
		spool := t.TempDir()
		o := flags("--grace 0 --event-hook " + h.URL + " --event-spool " + spool)
		s := serve(t, o)
		f := feedTo(t, publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv"), pace{})
		s.awaitLive(t, "live/s")
		for _, way := range []string{"flv", "rtmp", "ws"} {
			s.view(t, way, "s", "").awaitMedia(t, 5)
		}
		eventually(t, lengthened(10*time.Second), func() string { // events are written a moment after they happen
			if n := begunIn(t, spool); n < 4 {
				return fmt.Sprintf("%d begins are in the spool", n)
			}
			return ""
		})
		c.end(s)
		s.wait(t, lengthened(10*time.Second))
		f.stop()
		r.mu.Lock()
		if r.there = true; len(r.list) != 0 {
			t.Errorf("%s: %d events before the receiver was there", c.name, len(r.list))
		}
		r.mu.Unlock()
		next := serve(t, o)
		begins, ends := map[string]bool{}, map[string]bool{}
		eventually(t, lengthened(20*time.Second), func() string {
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.list) < 4+c.ends {
				return fmt.Sprintf("%s: only %+v have come", c.name, r.list)
			}
			return ""
		})
		next.signal(t, syscall.SIGTERM)
		next.wait(t, lengthened(10*time.Second))
		r.mu.Lock()
		for _, v := range r.list {
			switch v.Event {
			case "publish_begin", "play_begin":
				if begins[v.Session] {
					t.Errorf("%s: begins again: %+v", c.name, v)
				}
				begins[v.Session] = true
			case "publish_end", "play_end":
				if ends[v.Session] || !begins[v.Session] || v.Bytes == nil || *v.Bytes == 0 || v.Code == "" {
					t.Errorf("%s: %+v", c.name, v)
				}
				ends[v.Session] = true
			}
		}
		if len(begins) != 4 || len(ends) != c.ends {
			t.Errorf("%s: %d begins and %d ends: %+v", c.name, len(begins), len(ends), r.list)
		}
		r.mu.Unlock()
	}
}
