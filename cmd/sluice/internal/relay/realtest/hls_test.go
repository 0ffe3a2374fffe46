//go:build linux

package realtest

import (
	"path/filepath"
	"testing"
	"time"
)

// decodeHLS starts to play a stream by HLS, from its first segment to its end.
func decodeHLS(t testing.TB, s *server, query string) *process {
	t.Helper()
	return decode(t, "http://"+s.HTTP+"/live/s.m3u8"+query, "-live_start_index", "0")
}

// What RTMP and RTSP publish, ffmpeg plays by HLS: pictures are decoded to the same bytes
// at the same times, sound too.
func TestHLSInFFmpeg(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		input []string
		codec []string
		rtsp  bool
	}{
		{"H.264 with B-frames and AAC", []string{"testsrc2=size=320x240:rate=25", "sine=frequency=440:sample_rate=48000"},
			[]string{"-c:v", "libx264", "-bf", "3", "-preset", "ultrafast", "-c:a", "aac"}, false},
		{"HEVC and Opus", []string{"testsrc2=size=320x240:rate=25", "sine=frequency=440:sample_rate=48000"},
			[]string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-c:a", "libopus"}, true},
		{"pictures alone", []string{"testsrc2=size=320x240:rate=10"}, []string{"-c:v", "libx264", "-preset", "ultrafast"}, false},
		{"sound alone", []string{"sine=frequency=440:sample_rate=44100"}, []string{"-c:a", "aac"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "source.mkv")
			args := []string{"-loglevel", "error"}
			for _, source := range c.input {
				args = append(args, "-f", "lavfi", "-i", source)
			}
			args = append(args, "-t", "6", "-pix_fmt", "yuv420p", "-g", "25")
			if p := ffmpeg(t, append(append(args, c.codec...), file)...); p.wait(t, lengthened(60*time.Second)) != 0 {
				t.Fatal(p.stderr.tail(10))
			}
			source := decode(t, file)
			if code := source.wait(t, lengthened(60*time.Second)); code != 0 {
				t.Fatal(source.stderr.tail(10))
			}
			wantVideo, wantAudio := framesOf(t, source.stdout.String())
			s := serve(t, options{flags: []string{"--grace", "0"}})
			player := decodeHLS(t, s, "?wait=60")
			eventually(t, lengthened(15*time.Second), func() string {
				if player.ended() {
					t.Fatalf("the player ended: %s", player.stderr.tail(15))
				}
				return s.holds(player)
			})
			args = []string{"-loglevel", "warning", "-re", "-i", file, "-map", "0", "-c", "copy"}
			to := []string{"-f", "flv", "rtmp://" + s.RTMP + "/live/s"}
			if c.rtsp {
				to = []string{"-f", "rtsp", "-rtsp_transport", "tcp", "rtsp://" + s.RTSP + "/live/s"}
			}
			pub := ffmpeg(t, append(args, to...)...)
			if code := pub.wait(t, lengthened(40*time.Second)); code != 0 {
				t.Fatalf("the push ended with %d: %s", code, pub.stderr.tail(10))
			}
			if code := player.wait(t, lengthened(30*time.Second)); code != 0 {
				t.Fatalf("ffmpeg ended with %d: %s", code, player.stderr.tail(10))
			}
			video, audio := framesOf(t, player.stdout.String())
			from := 0.0
			if len(video) > 1 && len(wantVideo) > 1 {
				from = video[1].at - wantVideo[1].at
			}
			if len(wantVideo) > 0 {
				sameFrames(t, "pictures", video, wantVideo, from)
			}
			if len(wantAudio) > 0 {
				sameFrames(t, "sound", audio, wantAudio, from)
			}
		})
	}
}
