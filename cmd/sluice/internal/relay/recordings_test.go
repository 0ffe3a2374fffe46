package relay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/mp4"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/web"
)

const recordingsToken = "an-api-token"

var recordingsHeader = http.Header{"Authorization": {"Bearer " + recordingsToken}}

// startRecording runs a server that records in MP4.
func startRecording(t *testing.T, change func(*relayConfig)) (*relayServer, string) {
	dir := filepath.Join(t.TempDir(), "recordings")
	return startRelay(t, func(c *relayConfig) {
		c.Record, c.RecordFormat, c.APIToken = dir, "mp4", recordingsToken
		if change != nil {
			change(c)
		}
	}), dir
}

// recordings asks for the list.
func (s *relayServer) recordings(t *testing.T, query string) (list []web.RecordingInfo) {
	t.Helper()
	status, text := s.do(t, "GET", "/api/recordings"+query, recordingsHeader)
	var answer struct {
		Recordings []web.RecordingInfo `json:"recordings"`
		Total      int                 `json:"total"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK || answer.Total < len(answer.Recordings) {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	return answer.Recordings
}

// recorded publishes the clip, and waits for its recording.
func (s *relayServer) recorded(t *testing.T, stream, query string) web.RecordingInfo {
	t.Helper()
	p := s.publishing(t, "/"+stream+".flv"+query)
	p.send(t, flvtest.Clip(t)...)
	p.Close()
	if a := p.answered(t); a.err != nil || a.status != http.StatusOK {
		t.Fatalf("%d: %v", a.status, a.err)
	}
	var list []web.RecordingInfo
	relayEventually(t, "the recording has ended", func() bool {
		list = s.recordings(t, "?stream="+url.QueryEscape(stream))
		return len(list) == 1 && !list[0].Writing
	})
	return list[0]
}

func TestRecordingsAreServed(t *testing.T) {
	s, dir := startRecording(t, nil)
	rec := s.recorded(t, "live/a+b", "")
	if rec.LengthMS < 9900 || rec.Stream != "live/a+b" || time.Since(rec.Begin) > time.Minute {
		t.Errorf("%+v", rec)
	}
	want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(rec.File)))
	if err != nil {
		t.Fatal(err)
	}
	path := "/api/recordings/" + (&url.URL{Path: rec.File}).EscapedPath()
	status, text := s.get(t, path)
	if status != http.StatusOK || text != string(want) {
		t.Fatalf("%d, %d bytes of %d", status, len(text), len(want))
	}
	resp := s.request(t, "GET", path, http.Header{"Range": {"bytes=1000-1999"}})
	part, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusPartialContent || !bytes.Equal(part, want[1000:2000]) || resp.Header.Get("Content-Type") != "video/mp4" || resp.Header.Get("ETag") == "" {
		t.Errorf("%s, %d bytes, %v", resp.Status, len(part), resp.Header)
	}
	if status, _ := s.do(t, "GET", path, http.Header{"Range": {"bytes=99999999-"}}); status != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range beyond the end: %d", status)
	}
	// A header of a part is a hundred times as long as its range.
	for n, want := range map[int]int{16: http.StatusPartialContent, 17: http.StatusRequestedRangeNotSatisfiable, 6000: http.StatusRequestedRangeNotSatisfiable} {
		status, text := s.do(t, "GET", path, http.Header{"Range": {"bytes=" + strings.Repeat("0-0,", n-1) + "0-0"}})
		if status != want || len(text) > 4000 {
			t.Errorf("%d ranges: %d, %d bytes", n, status, len(text))
		}
	}
	// The last 0 bytes are no part of any file.
	for ranges, want := range map[string]int{"bytes=-0": 416, "bytes= -000 , -0": 416, "bytes=0-0,-0": 206, "bytes=-05": 206} {
		resp := s.request(t, "GET", path, http.Header{"Range": {ranges}})
		resp.Body.Close()
		if part := resp.Header.Get("Content-Range"); resp.StatusCode != want || want == 416 && part != fmt.Sprintf("bytes */%d", rec.Size) || want == 206 && part == "" {
			t.Errorf("%s: %s, %q", ranges, resp.Status, part)
		}
	}
	if status, _ := s.do(t, "DELETE", path, nil); status != http.StatusUnauthorized {
		t.Errorf("deleted without a token: %d", status)
	}
	if status, _ := s.do(t, "DELETE", path, recordingsHeader); status != http.StatusNoContent {
		t.Errorf("not deleted: %d", status)
	}
	if status, _ := s.get(t, path); status != http.StatusNotFound {
		t.Errorf("after it was deleted: %d", status)
	}
	for _, file := range []string{"..%2f..%2fetc%2fpasswd", "../../etc/passwd", "", "live", "live/%00-20260102-030405.mp4", "live/..%2fs-20260102-030405.mp4", strings.Repeat("x", 5000) + "-20260102-030405.mp4"} {
		for _, method := range []string{"GET", "DELETE"} {
			status, text := s.do(t, method, "/api/recordings/"+file, recordingsHeader)
			if status == http.StatusOK && strings.Contains(text, "root:") || status == http.StatusNoContent || status >= 500 {
				t.Errorf("%s %q: %d %s", method, file, status, text)
			}
		}
	}
}

func TestClipOverHTTP(t *testing.T) {
	s, _ := startRecording(t, nil)
	rec := s.recorded(t, "live/s", "")
	clip := func(query string) (*http.Response, []byte) {
		resp := s.request(t, "GET", "/api/clips?"+query, nil)
		defer resp.Body.Close()
		p, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, p
	}
	for _, query := range []string{
		"stream=live/s&from=-1m", "stream=live/s&from=-1m&to=0",
		"stream=live/s&from=" + url.QueryEscape(rec.Begin.Add(-time.Second).Format(time.RFC3339Nano)) + "&to=" + url.QueryEscape(rec.Begin.Add(time.Minute).Format(time.RFC3339)),
		"stream=live/s&to=0s&from=" + rec.Begin.Add(-time.Second).In(time.FixedZone("", 7200)).Format(time.RFC3339), // its + is a space
	} {
		resp, p := clip(query)
		x, err := mp4.Scan(bytes.NewReader(p), int64(len(p)))
		if resp.StatusCode != http.StatusOK || err != nil || len(x.Fragments) == 0 || x.End != int64(len(p)) {
			t.Fatalf("%s: %s, %v", query, resp.Status, err)
		}
		from, err := time.Parse(time.RFC3339Nano, resp.Header.Get("Clip-From"))
		if err != nil || !from.Equal(rec.Begin) || resp.Header.Get("Content-Type") != "video/mp4" || resp.ContentLength != int64(len(p)) {
			t.Errorf("%s: %v, it begins at %v: %v", query, resp.Header, rec.Begin, err)
		}
	}
	for query, want := range map[string]int{
		"":                                                    http.StatusBadRequest,
		"stream=live/s":                                       http.StatusBadRequest,
		"stream=live/s&from=yesterday":                        http.StatusBadRequest,
		"stream=live/s&from=-10s&to=-20s":                     http.StatusBadRequest,
		"stream=live/s&from=-2h":                              http.StatusBadRequest,
		"stream=live/s&from=-99999999h":                       http.StatusBadRequest,
		"stream=live/s&from=-9223372036s&to=-1ns":             http.StatusBadRequest,
		"stream=live/s&from=10s":                              http.StatusBadRequest,
		"stream=live/s&from=-40m&to=-30m":                     http.StatusNotFound,
		"stream=live/other&from=-1m":                          http.StatusNotFound,
		"stream=../../etc&from=-1m":                           http.StatusBadRequest,
		"stream=live/%2e%2e/s&from=-1m":                       http.StatusBadRequest,
		"stream=" + strings.Repeat("x", 5000) + "/s&from=-1m": http.StatusBadRequest,
	} {
		if resp, p := clip(query); resp.StatusCode != want {
			t.Errorf("%.60s: %s, want %d: %.200s", query, resp.Status, want, p)
		}
	}
	if status, _ := s.do(t, "POST", "/api/clips?stream=live/s&from=-1m", nil); status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", status)
	}
}

func TestRecordingsNeedWhatViewersNeed(t *testing.T) {
	const secret = "a secret that is long enough to be one"
	s, _ := startRecording(t, func(c *relayConfig) { c.TokenSecret, c.Protect = secret, []string{"play"} })
	rec := s.recorded(t, "live/s", "")
	mine := "token=" + access.Sign([]byte(secret), access.Play, "live/s", time.Now().Add(time.Hour))
	other := "token=" + access.Sign([]byte(secret), access.Play, "live/t", time.Now().Add(time.Hour))
	for _, path := range []string{"/api/recordings/" + rec.File + "?", "/api/clips?stream=live/s&from=-1m&"} {
		for query, want := range map[string]int{mine: http.StatusOK, other: http.StatusForbidden, "": http.StatusForbidden} {
			if status, text := s.get(t, path+query); status != want && !(want == http.StatusForbidden && status == http.StatusUnauthorized) {
				t.Errorf("%s%.10s: %d, want %d: %.100s", path, query, status, want, text)
			}
		}
		if status, _ := s.do(t, "GET", path, recordingsHeader); status != http.StatusOK {
			t.Errorf("%s with the API's token: %d", path, status)
		}
	}
	for _, query := range []string{"", other} { // what there is, is not said to those who may not have it
		_, there := s.get(t, "/api/recordings/"+rec.File+"?"+query)
		if _, text := s.get(t, "/api/recordings/live/s-20200102-030405.mp4?"+query); text != there {
			t.Errorf("%.10s: %s, of a file that is there %s", query, text, there)
		}
	}
	if status, _ := s.get(t, "/api/recordings/live/s-20200102-030405.mp4?"+mine); status != http.StatusNotFound {
		t.Errorf("a file that is not there: %d", status)
	}
	if status, _ := s.get(t, "/api/recordings"); status != http.StatusUnauthorized {
		t.Errorf("the list without a token: %d", status)
	}
	if status, _ := s.do(t, "GET", "/api/recordings", http.Header{"Authorization": {"Bearer " + recordingsToken}, "Sec-Fetch-Site": {"cross-site"}}); status != http.StatusForbidden {
		t.Errorf("the list for another site's page: %d", status)
	}
	relayEventually(t, "no viewer is counted", func() bool { return s.host.Gate.Usage().Viewers == 0 })
}

func TestRecordingsAreBegunAndEndedByTheAPI(t *testing.T) {
	s, _ := startRecording(t, func(c *relayConfig) { c.RecordAll = false })
	clip := flvtest.Clip(t)
	p := s.publishing(t, "/live/s.flv")
	p.send(t, clip[:100]...)
	relayEventually(t, "the stream is there", func() bool { _, ok := s.host.Hub.Stream("live/s"); return ok })
	if list := s.recordings(t, ""); len(list) > 0 {
		t.Errorf("%+v", list)
	}
	for _, header := range []http.Header{nil, {"Authorization": {"Bearer wrong"}}} {
		if status, _ := s.do(t, "POST", "/api/recordings?stream=live/s", header); status != http.StatusUnauthorized {
			t.Errorf("begun without a token: %d", status)
		}
	}
	order := func(method, stream string, want int) {
		t.Helper()
		if status, text := s.do(t, method, "/api/recordings?stream="+stream, recordingsHeader); status != want {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
	order("POST", "live/../s", http.StatusBadRequest)
	order("POST", "", http.StatusBadRequest)
	order("POST", "live/s", http.StatusNoContent)
	order("POST", "live/s", http.StatusNoContent) // again
	p.send(t, clip[100:400]...)
	relayEventually(t, "it is recorded", func() bool { list := s.recordings(t, ""); return len(list) == 1 && list[0].Writing })
	// A date has whole seconds, in which more is written: no cache may go by it.
	growing := s.request(t, "GET", "/api/recordings/"+s.recordings(t, "")[0].File, recordingsHeader)
	growing.Body.Close()
	if dated, tag := growing.Header.Get("Last-Modified"), growing.Header.Get("ETag"); growing.StatusCode != http.StatusOK || dated+tag != "" {
		t.Errorf("a file that is being written: %s, of %q, %q", growing.Status, dated, tag)
	}
	order("DELETE", "live/s", http.StatusNoContent)
	relayEventually(t, "it is not any more", func() bool {
		list := s.recordings(t, "")
		return len(list) == 1 && !list[0].Writing && list[0].LengthMS > 1000
	})
	s.log.line(t, "recorded", "no longer to be recorded")
	p.send(t, clip[400:]...)
	p.Close()
	p.answered(t)
	// It holds for the next publisher too.
	relayEventually(t, "the stream has ended", func() bool { _, ok := s.host.Hub.Stream("live/s"); return !ok })
	order("POST", "live/s", http.StatusNoContent)
	p = s.publishing(t, "/live/s.flv")
	p.send(t, clip...)
	p.Close()
	p.answered(t)
	relayEventually(t, "there are two", func() bool { list := s.recordings(t, ""); return len(list) == 2 && !list[0].Writing })
	if got := s.recordings(t, "?limit=1"); len(got) != 1 || got[0].LengthMS < 9900 {
		t.Errorf("%+v", got)
	}
	if status, _ := s.do(t, "GET", "/api/recordings?limit=0", recordingsHeader); status != http.StatusBadRequest {
		t.Errorf("limit=0: %d", status)
	}
}

func TestWithoutRecordings(t *testing.T) {
	s := startRelay(t, func(c *relayConfig) { c.APIToken = recordingsToken })
	for _, path := range []string{"/api/recordings", "/api/recordings/live/s-20260102-030405.mp4", "/api/clips?stream=live/s&from=-1m"} {
		if status, text := s.do(t, "GET", path, recordingsHeader); status != http.StatusNotFound || !strings.Contains(text, "record") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// A client that takes nothing does not hold the server's files for long.
func TestClipsAreBounded(t *testing.T) {
	s, _ := startRecording(t, func(c *relayConfig) { c.times.Answer = time.Second })
	s.recorded(t, "live/s", "")
	var open []io.Closer
	for i := range 40 {
		conn, r := s.raw(t, fmt.Sprintf("GET /api/clips?stream=live/s&from=-1m&i=%d HTTP/1.1\r\nHost: h\r\n\r\n", i))
		open = append(open, conn)
		_ = r
	}
	for _, c := range open {
		c.Close()
	}
	relayEventually(t, "a clip is sent again", func() bool {
		status, _ := s.get(t, "/api/clips?stream=live/s&from=-1m")
		return status == http.StatusOK
	})
}

// Who asks by HLS for what was not recorded is refused, and has no session with a viewer's place.
func TestNothingRecordedIsNoSession(t *testing.T) {
	s, _ := startRecording(t, func(c *relayConfig) { c.MaxViewersPerAddress = 1 })
	s.recorded(t, "live/s", "")
	for path, want := range map[string]int{
		"/live/none.m3u8?from=-1m":     http.StatusNotFound,
		"/live/s.m3u8?from=yesterday":  http.StatusBadRequest,
		"/live/s.m3u8?from=0s":         http.StatusNotFound,
		"/live/s/.hls/past/x-init.mp4": http.StatusNotFound,
		"/live/s/.hls/past/index.m3u8": http.StatusBadRequest,
	} {
		if status, text := s.get(t, path); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
		if _, text := s.do(t, "GET", "/api/clients", recordingsHeader); strings.Contains(text, `"viewer"`) {
			t.Fatalf("after %s: %s", path, text)
		}
	}
	if status, text := s.get(t, "/live/s.m3u8?from=-1m"); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
}
