package session

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/live"
)

func newTestClients() (*Register, *bytes.Buffer) {
	log := new(bytes.Buffer)
	return NewRegister(slog.New(slog.NewTextHandler(log, nil))), log
}

func TestClientsAreNumberedAndListed(t *testing.T) {
	books, _ := newTestClients()
	var all []*Client
	for i := range 12 {
		all = append(all, books.Begin(RoleViewer, Info{Stream: "live/s", Protocol: FLV}))
		if i < 2 {
			all = append(all, books.Begin(RolePublisher, Info{Stream: "live/s", Protocol: RTMP}))
		}
	}
	var ids []string
	for _, c := range books.List() {
		ids = append(ids, c.ID)
	}
	if got := strings.Join(ids, " "); got != "p1 p2 v1 v2 v3 v4 v5 v6 v7 v8 v9 v10 v11 v12" {
		t.Errorf("listed as %s", got)
	}
	all[0].End(nil)
	all[0].End(ErrKicked)
	if c := books.Begin(RoleViewer, Info{}); c.ID != "v13" {
		t.Errorf("the next is %s", c.ID)
	}
	if _, ok := books.Get("v1"); ok {
		t.Error("v1 is still there")
	}
	if books.Number(RoleViewer) != 12 || books.Number(RolePublisher) != 2 {
		t.Errorf("%d viewers, %d publishers", books.Number(RoleViewer), books.Number(RolePublisher))
	}
	totals := books.Totals()
	on, began := totals.On, totals.Began
	if on[Kind{RoleViewer, FLV}] != 11 || began[Kind{RoleViewer, FLV}] != 12 {
		t.Errorf("%v, %v", on, began)
	}
}

func TestClientThatIsStoppedBeforeItCanBe(t *testing.T) {
	books, log := newTestClients()
	c := books.Begin(RoleViewer, Info{})
	c.Stop(ErrKicked)
	c.Stop(ErrClosing)
	var kicked error
	c.Attach(nil, func(err error) { kicked = err })
	if kicked != ErrKicked {
		t.Errorf("stopped with %v", kicked)
	}
	c.End(live.ErrClosed)
	wantLine(t, log, "viewer ended", "reason=kicked")
	// An ended session is not stopped again.
	kicked = nil
	c.Attach(nil, func(err error) { kicked = err })
	if kicked != nil {
		t.Errorf("stopped again with %v", kicked)
	}
}

func TestClientFiguresAndLog(t *testing.T) {
	books, log := newTestClients()
	agent := strings.Repeat("ä", maxAgent)
	c := books.Begin(RolePublisher, Info{Stream: "live/s", Agent: agent, Query: map[string][]string{"token": {"secret"}}})
	c.Count(100)
	c.Count(200)
	if f := c.Figures(); f.Bytes != 300 || f.Frames != 2 {
		t.Errorf("%+v", f)
	}
	if len(c.Agent) > maxAgent || !strings.HasPrefix(agent, c.Agent) {
		t.Errorf("agent %q", c.Agent)
	}
	c.End(fmt.Errorf("read: %w", errors.New("broken")))
	wantLine(t, log, "publisher ended", `reason="read: broken"`, "bytes=300", "frames=2", "duration=")
	if strings.Contains(log.String(), "secret") {
		t.Error("the token is in the log")
	}
	v := books.Begin(RoleViewer, Info{})
	v.Attach(func() Figures { return Figures{Bytes: 7, Jumps: 3, Dropped: 40, Lag: time.Second} }, nil)
	v.End(live.ErrSlow)
	wantLine(t, log, "viewer ended", `reason="the viewer is too slow for the stream"`, "bytes=7", "jumps=3", "dropped=40")
}

// wantLine wants a line of the log that has all of these in it.
func wantLine(t *testing.T, log *bytes.Buffer, parts ...string) {
	t.Helper()
lines:
	for line := range strings.Lines(log.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		return
	}
	t.Errorf("no line with %q in %s", parts, log)
}
