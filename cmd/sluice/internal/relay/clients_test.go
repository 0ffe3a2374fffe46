package relay

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/live"
)

func newTestClients() (*clients, *relayLog) {
	log := &relayLog{}
	return newClients(slog.New(slog.NewTextHandler(log, nil))), log
}

func TestClientsAreNumberedAndListed(t *testing.T) {
	books, _ := newTestClients()
	var all []*client
	for i := range 12 {
		all = append(all, books.begin(roleViewer, sessionInfo{Stream: "live/s", Protocol: protocolFLV}))
		if i < 2 {
			all = append(all, books.begin(rolePublisher, sessionInfo{Stream: "live/s", Protocol: protocolRTMP}))
		}
	}
	var ids []string
	for _, c := range books.list() {
		ids = append(ids, c.id)
	}
	if got := strings.Join(ids, " "); got != "p1 p2 v1 v2 v3 v4 v5 v6 v7 v8 v9 v10 v11 v12" {
		t.Errorf("listed as %s", got)
	}
	all[0].end(nil)
	all[0].end(errKicked)
	if c := books.begin(roleViewer, sessionInfo{}); c.id != "v13" {
		t.Errorf("the next is %s", c.id)
	}
	if _, ok := books.get("v1"); ok {
		t.Error("v1 is still there")
	}
	if books.number(roleViewer) != 12 || books.number(rolePublisher) != 2 {
		t.Errorf("%d viewers, %d publishers", books.number(roleViewer), books.number(rolePublisher))
	}
	on, began := books.census()
	if on[sessionKind{roleViewer, protocolFLV}] != 11 || began[sessionKind{roleViewer, protocolFLV}] != 12 {
		t.Errorf("%v, %v", on, began)
	}
}

func TestClientThatIsStoppedBeforeItCanBe(t *testing.T) {
	books, log := newTestClients()
	c := books.begin(roleViewer, sessionInfo{})
	c.stop(errKicked)
	c.stop(errClosing)
	var kicked error
	c.attach(nil, func(err error) { kicked = err })
	if kicked != errKicked {
		t.Errorf("stopped with %v", kicked)
	}
	c.end(live.ErrClosed)
	log.line(t, "viewer ended", "reason=kicked")
	// Nobody is stopped who has ended.
	kicked = nil
	c.attach(nil, func(err error) { kicked = err })
	if kicked != nil {
		t.Errorf("stopped again with %v", kicked)
	}
}

func TestClientFiguresAndLog(t *testing.T) {
	books, log := newTestClients()
	agent := strings.Repeat("ä", maxAgent)
	c := books.begin(rolePublisher, sessionInfo{Stream: "live/s", Agent: agent, Query: map[string][]string{"token": {"secret"}}})
	c.count(100)
	c.count(200)
	if f := c.figures(); f.Bytes != 300 || f.Frames != 2 {
		t.Errorf("%+v", f)
	}
	if len(c.Agent) > maxAgent || !strings.HasPrefix(agent, c.Agent) {
		t.Errorf("agent %q", c.Agent)
	}
	c.end(fmt.Errorf("read: %w", errors.New("broken")))
	log.line(t, "publisher ended", `reason="read: broken"`, "bytes=300", "frames=2", "duration=")
	if strings.Contains(log.String(), "secret") {
		t.Error("the token is in the log")
	}
	v := books.begin(roleViewer, sessionInfo{})
	v.attach(func() clientStats { return clientStats{Bytes: 7, Jumps: 3, Dropped: 40, Lag: time.Second} }, nil)
	v.end(live.ErrSlow)
	log.line(t, "viewer ended", `reason="the viewer is too slow for the stream"`, "bytes=7", "jumps=3", "dropped=40")
}
