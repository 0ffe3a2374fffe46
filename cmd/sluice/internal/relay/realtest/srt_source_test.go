//go:build linux

package realtest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/au"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// pictures reads as many pictures, and returns of each the slices of H.264: what SRT's
// transport stream carries as it is. 0: all there are.
func pictures(t *testing.T, src tagSource, n int) (list []string) {
	t.Helper()
	var split au.Splitter
	for n == 0 || len(list) < n {
		g, err := src.next()
		if err == io.EOF && n == 0 {
			break
		}
		if err != nil {
			t.Fatalf("after %d pictures: %v", len(list), err)
		}
		u, ok, err := split.Split(flv.TagType(g.Type), g.Time, g.Data)
		if err != nil {
			t.Fatal(err)
		}
		if !ok || !u.Video {
			continue
		}
		var slices strings.Builder
		for _, p := range u.Parts {
			if kind := p[0] & 0x1f; kind == 1 || kind == 5 {
				slices.Write(p)
			}
		}
		list = append(list, slices.String())
	}
	return list
}

// A server calls another one by SRT, encrypted, while the stream has viewers, and calls
// again when the other one has been away. The pictures are the published ones, and the
// passphrase is nowhere.
func TestSRTSource(t *testing.T) {
	t.Parallel()
	const passphrase = "the-passphrase-of-a-test"
	far := serve(t, options{flags: strings.Fields("--webrtc off --grace 30s"), env: []string{"SLUICE_SRT_PASSPHRASE=" + passphrase}})
	near := serve(t, flags("--webrtc off --srt off --source live/x=srt://"+far.SRT+"?streamid=%23!::r=live/s%2Cm=request&passphrase="+passphrase+"&latency=1000"))
	push(t, clipFile(t), "rtmp://"+far.RTMP+"/live/s", loop...)
	far.awaitLive(t, "live/s")
	published := map[string]bool{}
	for _, p := range pictures(t, newFLV(bytes.NewReader(flvclip.File)), 0) {
		published[p] = true
	}
	conn := dial(t, near.HTTP, false)
	conn.SetDeadline(time.Now().Add(lengthened(2 * time.Minute)))
	src, err := playHTTP(conn, "/live/x.flv?wait=60")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pictures(t, src, 100) {
		if !published[p] {
			t.Fatalf("picture %d was not published", i)
		}
	}
	// The connection is cut at the far end.
	for _, c := range far.clients(t) {
		if c.Role == "viewer" {
			far.api(t, http.MethodDelete, "/api/clients/"+c.ID).Body.Close()
		}
	}
	eventually(t, lengthened(60*time.Second), func() string {
		if len(near.stderr.matches("no stream from the source")) == 0 {
			return "the end of the connection is not noticed"
		}
		return ""
	})
	pictures(t, src, 300) // more than were on their way
	var text string
	near.get(t, "/api/clients", &text)
	if !strings.Contains(text, `"protocol":"srt"`) {
		t.Errorf("no session of SRT: %s", text)
	}
	resp := near.api(t, http.MethodGet, "/api/streams")
	streams, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text+string(streams)+near.stderr.String(), passphrase) {
		t.Error("the passphrase is in the API or the log")
	}
}
