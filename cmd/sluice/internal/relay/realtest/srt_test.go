//go:build linux

package realtest

import (
	"path/filepath"
	"testing"
	"time"
)

// srtLatency is more than a busy machine stands still, in microseconds as ffmpeg has it.
const srtLatency = "latency=3000000"

// What ffmpeg publishes by SRT is played by it over SRT and HTTP-FLV: pictures are decoded
// to the same bytes at the same times, sound too. The library under ffmpeg is libsrt.
func TestSRTInAndOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		video      []string
		audio      []string
		passphrase string
		filter     []string // for sound out of a transport stream
		flv        bool     // ffmpeg plays it from FLV too
	}{
		{"H.264 with B-frames and AAC", []string{"-c:v", "libx264", "-bf", "3", "-preset", "ultrafast"}, []string{"-c:a", "aac"}, "", []string{"-bsf:a", "aac_adtstoasc"}, true},
		{"HEVC and AC-3, encrypted", []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"}, []string{"-c:a", "ac3"}, "a passphrase of a test", nil, false},
		{"H.264 and MP3", []string{"-c:v", "libx264", "-bf", "0", "-preset", "ultrafast"}, []string{"-c:a", "libmp3lame"}, "", nil, true},
		{"H.264 and Opus", []string{"-c:v", "libx264", "-bf", "0", "-preset", "ultrafast"}, []string{"-c:a", "libopus"}, "", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "source.mkv")
			args := []string{"-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "20", "-pix_fmt", "yuv420p", "-g", "250"}
			if p := ffmpeg(t, append(append(append(args, c.video...), c.audio...), file)...); p.wait(t, lengthened(60*time.Second)) != 0 {
				t.Fatal(p.stderr.tail(10))
			}
			source := decode(t, file)
			if code := source.wait(t, lengthened(60*time.Second)); code != 0 {
				t.Fatal(source.stderr.tail(10))
			}
			wantVideo, wantAudio := framesOf(t, source.stdout.String())
			o := options{flags: []string{"--grace", "0"}}
			query := srtLatency
			if c.passphrase != "" {
				o.env = []string{"SLUICE_SRT_PASSPHRASE=" + c.passphrase}
			}
			s := serve(t, o)
			srt := func(id string, args ...string) (url string, flags []string) {
				flags = append(args, "-srt_streamid", id)
				if c.passphrase != "" {
					flags = append(flags, "-passphrase", c.passphrase)
				}
				return "srt://" + s.SRT + "?" + query, flags
			}
			url, flags := srt("#!::r=live/s,m=publish", "-loglevel", "warning", "-re", "-i", file, "-map", "0", "-c", "copy", "-f", "mpegts")
			pub := ffmpeg(t, append(flags, url)...)
			s.awaitLive(t, "live/s")
			players := map[string]*process{}
			play := func(way, url string, filter []string, flags ...string) {
				args := append([]string{"-loglevel", "verbose"}, flags...)
				args = append(args, "-i", url, "-map", "0", "-vsync", "passthrough", "-enc_time_base", "-1", "-c:a", "copy", "-t", "6")
				players[way] = ffmpeg(t, append(append(args, filter...), "-f", "framemd5", "-")...)
			}
			url, flags = srt("#!::r=live/s,m=request")
			play("SRT", url, c.filter, flags...)
			if c.flv {
				play("HTTP-FLV", "http://"+s.HTTP+"/live/s.flv", nil)
			}
			for way, p := range players {
				if code := p.wait(t, lengthened(40*time.Second)); code != 0 {
					t.Errorf("%s: ffmpeg ended with %d: %s", way, code, p.stderr.tail(10))
					continue
				}
				samePrefix(t, way, p.stdout.String(), wantVideo, wantAudio)
			}
			pub.kill()
		})
	}
}

// samePrefix compares what was played with the source, which goes on behind it.
func samePrefix(t *testing.T, way, got string, wantVideo, wantAudio []decoded) {
	t.Helper()
	video, audio := framesOf(t, got)
	if len(video) < 100 || len(audio) < 100 {
		t.Errorf("%s: %d pictures and %d frames of sound", way, len(video), len(audio))
		return
	}
	from := video[1].at - wantVideo[1].at
	const lead = 12
	sameFrames(t, way+", pictures", video, wantVideo[:min(len(video), len(wantVideo))], from)
	skip := 0
	for skip < lead && wantAudio[skip].sum != audio[0].sum {
		skip++
	}
	sameFrames(t, way+", sound", audio, wantAudio[:min(skip+len(audio), len(wantAudio))], from)
}
