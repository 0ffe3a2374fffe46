//go:build linux

package realtest

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hlstest"
)

// recordedClip is a server that has recorded the clip as live/s, which is over.
func recordedClip(t *testing.T, more string) (s *server, dir string) {
	t.Helper()
	dir = t.TempDir()
	s = serve(t, flags("--webrtc off --srt off --grace 0 --record-format mp4 --record "+dir+" "+more))
	p := push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s")
	if code := p.wait(t, lengthened(20*time.Second)); code != 0 {
		t.Fatalf("the push ended with %d: %s", code, p.stderr.tail(10))
	}
	eventually(t, lengthened(20*time.Second), func() string {
		if len(s.stderr.matches("msg=recorded")) == 0 {
			return "the recording has not ended"
		}
		return ""
	})
	return s, dir
}

// ffmpeg plays what was recorded, by both ways: the frames are the published ones, at their
// times.
func TestFFmpegRewinds(t *testing.T) {
	t.Parallel()
	s, _ := recordedClip(t, "")
	for _, address := range []string{"/live/s.m3u8?from=-1h", "/live/s.flv?from=-1h"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			checkMovie(t, "http://"+s.HTTP+address, clipVideo)
		})
	}
}

// A server that was killed has what was recorded before it, for players that go back.
func TestRewindingWhatAKilledServerHasRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, flags("--webrtc off --srt off --record-format mp4 --record "+dir))
	push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", "-re")
	eventually(t, lengthened(30*time.Second), func() string {
		files := movies(t, dir)
		if len(files) != 1 {
			return "no recording, or more than one"
		}
		if info, err := os.Stat(files[0]); err != nil || info.Size() < 50_000 {
			return "little is recorded"
		}
		return ""
	})
	s.kill()
	again := serve(t, flags("--webrtc off --srt off --record-format mp4 --record "+dir))
	for _, address := range []string{"/live/s.m3u8?from=-5m", "/live/s.flv?from=-5m"} {
		checkMovie(t, "http://"+again.HTTP+address, 0)
	}
}

// Times and streams of which nothing was recorded, and those that are no times, are
// refused with a reason, and a token is needed as for playing.
func TestRewindingIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, options{flags: strings.Fields("--webrtc off --srt off --protect play --record-format mp4 --record " + dir), env: []string{"SLUICE_TOKEN_SECRET=" + strings.Repeat("k", 32)}})
	p := push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s")
	if code := p.wait(t, lengthened(20*time.Second)); code != 0 {
		t.Fatalf("the push ended with %d: %s", code, p.stderr.tail(10))
	}
	eventually(t, lengthened(20*time.Second), func() string {
		if len(s.stderr.matches("msg=recorded")) == 0 {
			return "the recording has not ended"
		}
		return ""
	})
	var made struct{ Token string }
	resp := s.api(t, http.MethodPost, "/api/tokens?action=play&stream=live/s&for=1h")
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.Token == "" {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	for _, c := range []struct {
		path   string
		status int
	}{
		{"?from=-1h", http.StatusUnauthorized},
		{"?from=-1h&token=" + made.Token, http.StatusOK},
		{"?from=yesterday&token=" + made.Token, http.StatusBadRequest},
		{"?from=&token=" + made.Token, http.StatusBadRequest},
		{"?from=2999-01-01T00:00:00Z&token=" + made.Token, http.StatusBadRequest},
		{"?from=0s&token=" + made.Token, http.StatusNotFound},
	} {
		for _, kind := range []string{".flv", ".m3u8"} {
			for _, method := range []string{http.MethodHead, http.MethodGet} {
				resp := s.api(t, method, "/live/s"+kind+c.path)
				resp.Body.Close()
				if resp.StatusCode != c.status {
					t.Errorf("%s %s%s: %s, want %d", method, kind, c.path, resp.Status, c.status)
				}
				if at := resp.Header.Get("Recorded-From"); (at != "") != (c.status == http.StatusOK) {
					t.Errorf("%s %s%s begins at %q", method, kind, c.path, at)
				}
			}
		}
	}
	for _, path := range []string{"/live/other.flv?from=-1h", "/live/s/.hls/past/../../../etc/passwd", "/live/s/.hls/past/%2e%2e%2fs-20260102-030405.mp4", "/live/s/.hls/past/x-init.mp4"} {
		resp := s.api(t, http.MethodGet, path+map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]+"token="+made.Token)
		resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
}

// A playlist of what is being recorded only grows, and ends with the stream. Its media are
// there as a whole and in parts.
func TestPlaylistOfWhatIsBeingRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, flags("--webrtc off --srt off --grace 0 --record-format mp4 --record "+dir))
	p := push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", "-re")
	s.awaitLive(t, "live/s")
	const list = "/live/s.m3u8?from=-1m"
	eventually(t, lengthened(20*time.Second), func() string { // the file is there before what is in it
		resp := s.api(t, http.MethodHead, list)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return "no recording: " + resp.Status
		}
		return ""
	})
	var text string
	s.get(t, list, &text)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	address := "/live/" + strings.TrimPrefix(lines[len(lines)-1], "./")
	if !strings.Contains(address, "/.hls/past/index.m3u8?session=") || !strings.Contains(text, "CODECS=\"avc1.") {
		t.Fatal(text)
	}
	var before *hlstest.Playlist
	eventually(t, lengthened(60*time.Second), func() string {
		var text string
		s.get(t, address, &text)
		now, err := hlstest.Parse(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if before != nil {
			if err := now.Follows(before); err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
		}
		if before = now; !now.End {
			return "the playlist has no end"
		}
		return ""
	})
	if code := p.wait(t, lengthened(20*time.Second)); code != 0 {
		t.Errorf("the push ended with %d: %s", code, p.stderr.tail(10))
	}
	length, bytes := 0.0, 0
	base := address[:strings.LastIndex(address, "/")+1]
	for i, segment := range before.Segments {
		length += segment.Duration
		resp := s.api(t, http.MethodGet, base+segment.URI)
		whole, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || len(whole) == 0 {
			t.Fatalf("segment %d: %s, %v", i, resp.Status, err)
		}
		bytes += len(whole)
		req, _ := http.NewRequest(http.MethodGet, "http://"+s.HTTP+base+segment.URI, nil)
		req.Header.Set("Range", "bytes=100-299")
		resp, err = apiClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		part, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusPartialContent || string(part) != string(whole[100:300]) {
			t.Errorf("a part of segment %d: %s, %d bytes", i, resp.Status, len(part))
		}
	}
	info, err := os.Stat(movies(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	if length < 9.5 || length > 10.5 || int64(bytes) > info.Size() || int64(bytes) < info.Size()-4000 {
		t.Errorf("%.3f s, %d of %d bytes", length, bytes, info.Size())
	}
}

// A browser goes back in what is being recorded, by HLS and by FLV: it begins with the
// oldest picture, and time moves.
func TestChromiumRewinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, flags("--webrtc off --srt off --record-format mp4 --record "+dir))
	push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...)
	s.awaitLive(t, "live/s")
	eventually(t, lengthened(60*time.Second), func() string {
		var list struct {
			Recordings []struct {
				Length int `json:"duration_ms"`
			}
		}
		s.get(t, "/api/recordings?stream=live/s", &list)
		if len(list.Recordings) == 0 || list.Recordings[0].Length < 10_000 {
			return "little is recorded"
		}
		return ""
	})
	for _, transport := range []string{"hls", "flv", "ws"} {
		t.Run(transport, func(t *testing.T) {
			ctx, asked, faults := browse(t)
			if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("http://"+s.HTTP+"/?stream=live/s"), chromedp.WaitVisible(chromedp.CSS("#past"))); err != nil {
				t.Fatalf("opening the page: %v", err)
			}
			evaluate[bool](t, ctx, `(() => {
				document.getElementById("transport").value = "`+transport+`";
				const e = document.getElementById("past");
				e.value = "begin";
				return e.dispatchEvent(new Event("change", {bubbles: true}));
			})()`)
			const position = `document.getElementById("video").currentTime`
			eventually(t, lengthened(30*time.Second), func() string {
				// It is behind what is live by what was recorded before.
				if evaluate[float64](t, ctx, position) < 2 || evaluate[int](t, ctx, `document.getElementById("video").videoWidth`) != 640 {
					return "no picture, or the time does not move: " + said(t, ctx)
				}
				return ""
			})
			want := map[string]string{"hls": ".m3u8?from=", "flv": ".flv?from=", "ws": ".flv?from="}[transport]
			if !slices.ContainsFunc(asked(), func(u string) bool { return strings.Contains(u, want) }) {
				t.Errorf("asked were %q", asked())
			}
			if f := faults(); len(f) > 0 {
				t.Errorf("the page fails with %q", f)
			}
		})
	}
}
