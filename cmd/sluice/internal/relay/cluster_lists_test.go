package relay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
)

// Pushes and recordings of all nodes are listed on any, and removed there. A file is sent
// by the node that has it.
func TestClusterListsPushesAndRecordings(t *testing.T) {
	nodes := startNodes(t, 3, func(c *relayConfig) {
		c.APIToken = recordingsToken
		if c.NodeName != "a" {
			c.Record, c.RecordFormat = t.TempDir(), "mp4"
		}
	})
	a, b, c := nodes[0], nodes[1], nodes[2]
	recorded := []web.RecordingInfo{c.recorded(t, "live/c", ""), b.recorded(t, "live/b", "")}
	target, err := push.NewTarget("live/x", "rtmp://127.0.0.1:1/live/x", func(string) string { return "" })
	if err == nil {
		_, err = b.web.Pushes.Add(target)
	}
	if err != nil {
		t.Fatal(err)
	}
	var l struct {
		Pushes     []web.PushInfo
		Targets    []web.PushTarget
		Recordings []web.RecordingInfo
		Total      int
		Unanswered []web.Unanswered
	}
	read := func(s *relayServer, path string) { // until all have answered
		t.Helper()
		relayEventually(t, path, func() bool {
			l.Targets, l.Recordings, l.Total, l.Unanswered = nil, nil, 0, nil
			status, text := s.do(t, "GET", path, recordingsHeader)
			return status == http.StatusOK && json.Unmarshal([]byte(text), &l) == nil && len(l.Unanswered) == 0
		})
	}
	for _, s := range nodes {
		relayEventually(t, "the pushes of all nodes", func() bool {
			read(s, "/api/pushes")
			return len(l.Targets) == 1 && l.Targets[0].Node == "b" && l.Targets[0].ID == "t1"
		})
		relayEventually(t, "the recordings of all nodes", func() bool {
			read(s, "/api/recordings")
			return fmt.Sprint(filesOf(l.Recordings)) == fmt.Sprint([]string{recorded[1].File + "@b", recorded[0].File + "@c"})
		})
		if l.Total != 2 {
			t.Errorf("%d recordings in all", l.Total)
		}
	}
	if read(a, "/api/recordings?limit=1"); len(l.Recordings) != 1 || l.Recordings[0].Node != "b" || l.Total != 2 {
		t.Errorf("the newest: %+v of %d", l.Recordings, l.Total)
	}
	if read(a, "/api/recordings?stream=live/c"); len(l.Recordings) != 1 || l.Recordings[0].Node != "c" {
		t.Errorf("of a stream: %+v", l.Recordings)
	}
	if read(a, "/api/recordings?node=c"); len(l.Recordings) != 1 {
		t.Errorf("of a node: %+v", l.Recordings)
	}
	if read(b, "/api/recordings?node=self"); len(l.Recordings) != 1 {
		t.Errorf("of the node that is asked: %+v", l.Recordings)
	}

	file := "/api/recordings/" + (&url.URL{Path: recorded[1].File}).EscapedPath()
	client := &http.Client{Timeout: relayWait, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get("http://" + a.http + file + "?token=x&node=b")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got, want := resp.Header.Get("Location"), "http://"+b.http+file+"?token=x"; resp.StatusCode != http.StatusTemporaryRedirect || got != want {
		t.Errorf("a file of b: %s, to %q, not %q", resp.Status, got, want)
	}
	for _, path := range []string{file + "?node=b", "/api/pushes/t1?node=b"} {
		if status, _ := a.do(t, "DELETE", path, nil); status != http.StatusUnauthorized {
			t.Errorf("without the API token: %d", status)
		}
		relayEventually(t, "b has removed it", func() bool { // it may do so, and answer too late
			status, _ := a.do(t, "DELETE", path, recordingsHeader)
			return status == http.StatusNotFound
		})
	}
	if read(b, "/api/pushes?node=self"); len(l.Targets) > 0 {
		t.Errorf("b has the target: %+v", l.Targets)
	}
	if read(b, "/api/recordings?node=self"); len(l.Recordings) > 0 {
		t.Errorf("b has the recording: %+v", l.Recordings)
	}
	for _, path := range []string{file + "?node=x", "/api/pushes/t1?node=x"} {
		if status, _ := a.do(t, "DELETE", path, recordingsHeader); status != http.StatusNotFound {
			t.Errorf("%s, of a node that there is not: %d", path, status)
		}
	}
	// What nodes ask one another is not everything that clients may.
	for _, target := range []string{"POST /api/pushes", "POST /api/recordings?stream=live/c", "GET " + file, "GET /api/reload", "POST /api/reload"} {
		method, path, _ := strings.Cut(target, " ")
		if status, _ := b.web.Answer(t.Context(), method, path, "192.0.2.1"); status != http.StatusNotFound {
			t.Errorf("%s between nodes: %d", target, status)
		}
	}
}

func filesOf(list []web.RecordingInfo) (files []string) {
	for _, r := range list {
		files = append(files, r.File+"@"+r.Node)
	}
	return files
}
