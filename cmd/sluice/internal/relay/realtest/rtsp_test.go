//go:build linux

package realtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A decoded frame, as framemd5 prints it.
type decoded struct {
	at  float64 // ms
	sum string
}

// framesOf reads framemd5: the frames of picture and sound with their times from the
// first of all.
func framesOf(t testing.TB, text string) (video, audio []decoded) {
	t.Helper()
	ticks := map[string]float64{}
	kinds := map[string]*[]decoded{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "#tb "); ok {
			number, tb, _ := strings.Cut(rest, ": ")
			a, b, _ := strings.Cut(tb, "/")
			n, _ := strconv.ParseFloat(a, 64)
			d, err := strconv.ParseFloat(b, 64)
			if err != nil {
				t.Fatalf("time base %q", line)
			}
			ticks[number] = 1000 * n / d
		}
		if rest, ok := strings.CutPrefix(line, "#media_type "); ok {
			number, kind, _ := strings.Cut(rest, ": ")
			kinds[number] = map[string]*[]decoded{"video": &video, "audio": &audio}[kind]
		}
		f := strings.Split(line, ",")
		if strings.HasPrefix(line, "#") || len(f) < 6 {
			continue
		}
		pts, err := strconv.Atoi(strings.TrimSpace(f[2]))
		if err != nil {
			t.Fatalf("framemd5: %s", line)
		}
		into := kinds[strings.TrimSpace(f[0])]
		*into = append(*into, decoded{float64(pts) * ticks[strings.TrimSpace(f[0])], strings.TrimSpace(f[5])})
	}
	first := 0.0
	for i, all := range [][]decoded{video, audio} {
		if len(all) > 0 && (i == 0 || all[0].at < first) {
			first = all[0].at
		}
	}
	for _, all := range [][]decoded{video, audio} {
		for i := range all {
			all[i].at -= first
		}
	}
	return video, audio
}

// decode starts to decode the pictures of a file or stream to its end. Sound stays as it
// is: decoders of it need some frames to begin with. ffmpeg reads in a thread of its own,
// ahead of the decoder, which a busy machine makes slower than the stream: the server
// would leave out frames for a viewer that reads so late.
func decode(t testing.TB, url string, input ...string) *process {
	t.Helper()
	args := append([]string{"-loglevel", "verbose", "-thread_queue_size", "8192"}, input...)
	return ffmpeg(t, append(args, "-i", url, "-map", "0", "-vsync", "passthrough", "-enc_time_base", "-1", "-c:a", "copy", "-f", "framemd5", "-")...)
}

// sameFrames compares frames with those of the source: the same but for some at the
// beginning, before the first picture, and the last ones, of which ffmpeg keeps what does
// not fill a packet when it ends. from is by how much the times differ.
func sameFrames(t testing.TB, what string, got, want []decoded, from float64) {
	t.Helper()
	const lead, tail, tolerance = 12, 8, 2
	skip := 0
	for len(got) > 0 && skip < lead && skip < len(want) && want[skip].sum != got[0].sum {
		skip++
	}
	want = want[min(skip, len(want)):]
	if len(want) == 0 || len(got) < len(want)-tail || len(got) > len(want) {
		t.Errorf("%s: %d frames, want %d behind the first %d", what, len(got), len(want), skip)
		return
	}
	for i := range got {
		if got[i].sum != want[i].sum {
			t.Errorf("%s: frame %d at %.1f ms is another than at %.1f ms in the source", what, i, got[i].at, want[i].at)
			return
		}
		if i == 0 && strings.HasPrefix(what, "RTSP") {
			// ffmpeg 5.1 gives the first picture of H.264 over RTSP no time when there are
			// B-frames, whatever the server.
			continue
		}
		if d := got[i].at - want[i].at - from; d > tolerance || d < -tolerance {
			t.Errorf("%s: frame %d is at %.2f ms, want %.2f", what, i, got[i].at-from, want[i].at)
			return
		}
	}
}

// sameMedia compares pictures and sound, both against the clock of the second picture.
func sameMedia(t testing.TB, way, got string, wantVideo, wantAudio []decoded) {
	t.Helper()
	video, audio := framesOf(t, got)
	from := 0.0
	if len(video) > 1 && len(wantVideo) > 1 {
		from = video[1].at - wantVideo[1].at
	}
	sameFrames(t, way+", pictures", video, wantVideo, from)
	sameFrames(t, way+", sound", audio, wantAudio, from)
}

// rtspWays are the two transports of RTSP as flags of ffmpeg.
var rtspWays = map[string][]string{"RTSP over TCP": {"-rtsp_transport", "tcp"}, "RTSP over UDP": {"-rtsp_transport", "udp"}}

// A trial is a test of which datagrams are a part: a machine that stands still loses some. What
// it complains of is kept.
type trial struct {
	testing.TB
	wrong []string
}

// of is what a way of RTSP complains to.
func (x *trial) of(ways ...string) testing.TB {
	if slices.Contains(ways, "RTSP over UDP") {
		return x
	}
	return x.TB
}

func (x *trial) Errorf(format string, args ...any) {
	x.wrong = append(x.wrong, fmt.Sprintf(format, args...))
}

// tryDatagrams runs a part of a test, and twice more while it fails: what fails each time is
// wrong.
func tryDatagrams(t *testing.T, f func(*trial)) {
	t.Helper()
	const tries = 3
	for try := 1; ; try++ {
		x := &trial{TB: t}
		f(x)
		if len(x.wrong) == 0 {
			return
		}
		if try == tries {
			t.Error(strings.Join(x.wrong, "\n"))
			return
		}
		t.Logf("try %d: %s", try, strings.Join(x.wrong, "\n"))
	}
}

// What RTMP and RTSP publish, RTMP, HTTP-FLV and RTSP play: pictures are decoded to the
// same bytes at the same times, sound too.
func TestRTSPInAndOut(t *testing.T) {
	t.Parallel()
	file := clipFile(t)
	source := decode(t, file)
	if code := source.wait(t, lengthened(60*time.Second)); code != 0 {
		t.Fatal(source.stderr.tail(10))
	}
	wantVideo, wantAudio := framesOf(t, source.stdout.String())
	ways := []string{"RTMP", "RTSP over TCP", "RTSP over UDP"}
	for _, in := range ways {
		t.Run("published by "+in, func(t *testing.T) {
			t.Parallel()
			tryDatagrams(t, func(x *trial) { inAndOut(t, x, file, in, wantVideo, wantAudio) })
		})
	}
}

// inAndOut publishes a file in one way, and plays it in all. x gets what is wrong.
func inAndOut(t *testing.T, x *trial, file, in string, wantVideo, wantAudio []decoded) {
	t.Helper()
	s := serve(t, options{flags: []string{"--grace", "0"}})
	players := map[string]*process{
		"RTMP":     decode(t, "rtmp://"+s.RTMP+"/live/s?wait=60"),
		"HTTP-FLV": decode(t, "http://"+s.HTTP+"/live/s.flv?wait=60"),
	}
	for way, flags := range rtspWays {
		players[way] = decode(t, "rtsp://"+s.RTSP+"/live/s?wait=60", flags...)
	}
	for way, p := range players {
		eventually(t, lengthened(15*time.Second), func() string {
			if p.ended() {
				t.Fatalf("%s ended: %s", way, p.stderr.tail(15))
			}
			return s.holds(p)
		})
	}
	var pub *process
	if flags, ok := rtspWays[in]; ok {
		args := append([]string{"-loglevel", "warning", "-re", "-i", file, "-map", "0", "-c", "copy", "-f", "rtsp"}, flags...)
		pub = ffmpeg(t, append(args, "rtsp://"+s.RTSP+"/live/s")...)
	} else {
		pub = push(t, file, "rtmp://"+s.RTMP+"/live/s", "-re")
	}
	if code := pub.wait(t, lengthened(40*time.Second)); code != 0 {
		t.Fatalf("the push ended with %d: %s", code, pub.stderr.tail(10))
	}
	for way, p := range players {
		if code := p.wait(t, lengthened(20*time.Second)); code != 0 {
			x.of(in, way).Errorf("%s: ffmpeg ended with %d: %s", way, code, p.stderr.tail(10))
			continue
		}
		sameMedia(x.of(in, way), way, p.stdout.String(), wantVideo, wantAudio)
	}
}

// Codecs that ffmpeg can publish by RTSP, published and played by it over both
// transports.
func TestRTSPCodecs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		video   []string
		audio   []string
		publish []string
	}{
		{"H.264 with B-frames and AAC", []string{"-c:v", "libx264", "-bf", "3", "-preset", "ultrafast"}, []string{"-c:a", "aac"}, nil},
		{"HEVC and Opus", []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"}, []string{"-c:a", "libopus"}, nil},
		{"VP9 and Opus", []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"}, []string{"-c:a", "libopus"}, []string{"-strict", "experimental"}},
		{"H.264 and MP3", []string{"-c:v", "libx264", "-bf", "0", "-preset", "ultrafast"}, []string{"-c:a", "libmp3lame"}, nil},
		{"H.264 and A-law", []string{"-c:v", "libx264", "-bf", "0", "-preset", "ultrafast"}, []string{"-c:a", "pcm_alaw", "-ar", "8000", "-ac", "1"}, nil},
		{"H.264 and mu-law", []string{"-c:v", "libx264", "-bf", "0", "-preset", "ultrafast"}, []string{"-c:a", "pcm_mulaw", "-ar", "8000", "-ac", "1"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "source.mkv")
			args := []string{"-loglevel", "error"}
			if c.video != nil {
				args = append(args, "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25")
			}
			// One group of pictures: players that take a second to begin have it from its beginning.
			args = append(args, "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "4", "-pix_fmt", "yuv420p", "-g", "100")
			args = append(append(append(args, c.video...), c.audio...), file)
			if p := ffmpeg(t, args...); p.wait(t, lengthened(60*time.Second)) != 0 {
				t.Fatal(p.stderr.tail(10))
			}
			source := decode(t, file)
			if code := source.wait(t, lengthened(60*time.Second)); code != 0 {
				t.Fatal(source.stderr.tail(10))
			}
			wantVideo, wantAudio := framesOf(t, source.stdout.String())
			tryDatagrams(t, func(x *trial) {
				s := serve(t, options{flags: []string{"--grace", "0"}})
				players := map[string]*process{}
				for way, flags := range rtspWays {
					players[way] = decode(t, "rtsp://"+s.RTSP+"/live/s?wait=60", flags...)
				}
				for way, p := range players {
					eventually(t, lengthened(15*time.Second), func() string {
						if p.ended() {
							t.Fatalf("%s ended: %s", way, p.stderr.tail(15))
						}
						return s.holds(p)
					})
				}
				push := append([]string{"-loglevel", "warning", "-re", "-i", file, "-map", "0", "-c", "copy"}, c.publish...)
				pub := ffmpeg(t, append(push, "-f", "rtsp", "-rtsp_transport", "tcp", "rtsp://"+s.RTSP+"/live/s")...)
				if code := pub.wait(t, lengthened(40*time.Second)); code != 0 {
					t.Fatalf("the push ended with %d: %s", code, pub.stderr.tail(10))
				}
				for way, p := range players {
					if code := p.wait(t, lengthened(20*time.Second)); code != 0 {
						x.of(way).Errorf("%s: ffmpeg ended with %d: %s", way, code, p.stderr.tail(10))
						continue
					}
					sameMedia(x.of(way), way, p.stdout.String(), wantVideo, wantAudio)
				}
			})
		})
	}
}

// holds returns why a player is not known to wait yet, empty when it does: it has
// connected.
func (s *server) holds(p *process) string {
	if n := established(p.cmd.Process.Pid); n == 0 {
		return fmt.Sprintf("process %d has no connection", p.cmd.Process.Pid)
	}
	return ""
}

// established returns how many sockets a process has.
func established(pid int) int {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
