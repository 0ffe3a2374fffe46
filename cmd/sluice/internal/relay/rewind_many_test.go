package relay

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// However many sessions go back in a recording by HLS, each to another time, its file is not open
// for each of them.
func TestManyWhoRewindHaveNoFileEach(t *testing.T) {
	s, dir := startRecording(t, nil)
	s.recorded(t, "live/s", "")
	open := func() (n int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		for _, f := range list {
			if to, err := os.Readlink(filepath.Join("/proc/self/fd", f.Name())); err == nil && strings.HasPrefix(to, dir) && strings.HasSuffix(to, ".mp4") {
				n++
			}
		}
		return n
	}
	media := regexp.MustCompile(`(?m)^[^#].*-[0-9]+\.mp4.*$`)
	for i := range 40 {
		from := time.Now().Add(-20*time.Hour - time.Duration(i)*time.Second).UTC().Format(time.RFC3339Nano)
		id := fmt.Sprintf("session-%016d", i)
		if status, text := s.get(t, "/live/s.m3u8?session="+id+"&from="+from); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		status, text := s.get(t, "/live/s/.hls/past/index.m3u8?session="+id+"&from="+from)
		segment := media.FindString(text)
		if status != http.StatusOK || segment == "" {
			t.Fatalf("%d %s", status, text)
		}
		if status, _ := s.get(t, "/live/s/.hls/past/"+segment); status != http.StatusOK {
			t.Fatalf("%s: %d", segment, status)
		}
	}
	// The server closes what it has sent after the client has it.
	relayEventually(t, "no more than one file is open", func() bool { return open() <= 1 })
}
