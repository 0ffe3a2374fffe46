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

	"github.com/sluice-go/sluice/internal/flvclip"
)

// clipFile writes the clip where ffmpeg can read it.
func clipFile(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "clip.flv")
	if err := os.WriteFile(name, flvclip.File, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// ffmpeg starts ffmpeg with the flags that every call has. What it says of its
// work is in stderr.
func ffmpeg(t testing.TB, args ...string) *process {
	t.Helper()
	return start(t, nil, tool(t, "ffmpeg"), append([]string{"-nostdin", "-hide_banner", "-nostats"}, args...)...)
}

// push starts to publish a file as it is. More flags of the input come first.
func push(t testing.TB, file, url string, input ...string) *process {
	t.Helper()
	args := append([]string{"-loglevel", "warning"}, input...)
	args = append(args, "-i", file, "-map", "0", "-c", "copy", "-f", "flv")
	if strings.HasPrefix(url, "http") {
		args = append(args, "-method", "POST")
	}
	return ffmpeg(t, append(args, url)...)
}

// loop are the flags of push for a publisher that goes on and on in real time.
var loop = []string{"-re", "-stream_loop", "-1"}

// pull starts to play a URL to its end. It returns when ffmpeg is connected and
// has asked, so that a push which begins after that cannot be too early.
func pull(t testing.TB, url string) *process {
	t.Helper()
	p := ffmpeg(t, "-loglevel", "debug", "-i", url, "-map", "0", "-c", "copy", "-f", "framecrc", "-")
	asked := "request: GET "
	if strings.HasPrefix(url, "rtmp") {
		asked = "Sending play command"
	}
	eventually(t, lengthened(15*time.Second), func() string {
		if p.ended() {
			t.Fatalf("ffmpeg -i %s ended: %s", url, p.stderr.tail(15))
		}
		if !strings.Contains(p.stderr.String(), asked) {
			return "ffmpeg has not asked for " + url
		}
		return ""
	})
	return p
}

// A packet is a line of framecrc.
type packet struct {
	DTS, PTS int // ms
	Size     int
	Sum      string
}

// A crcList is the packets of picture and sound of a file or stream, with the
// times counted from the first of them.
type crcList struct{ video, audio []packet }

func parseCRC(t testing.TB, text string) crcList {
	t.Helper()
	var list crcList
	streams := map[string]*[]packet{}
	kinds := map[string]*[]packet{"video": &list.video, "audio": &list.audio}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if kind, found := strings.CutPrefix(line, "#media_type "); found {
			number, kind, _ := strings.Cut(kind, ": ")
			if into := kinds[kind]; into != nil {
				streams[number] = into
			}
			continue
		}
		f := strings.Split(line, ",")
		if strings.HasPrefix(line, "#") || len(f) < 6 {
			continue
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		into, known := streams[f[0]]
		if !known {
			t.Fatalf("framecrc has a packet of stream %s: %s", f[0], line)
		}
		var numbers [3]int
		for i, field := range []string{f[1], f[2], f[4]} {
			n, err := strconv.Atoi(field)
			if err != nil {
				t.Fatalf("framecrc: %s: %v", line, err)
			}
			numbers[i] = n
		}
		*into = append(*into, packet{numbers[0], numbers[1], numbers[2], f[5]})
	}
	return list
}

// fromZero counts the times from the first packet.
func (l crcList) fromZero() crcList {
	first := 0
	for i, all := range [][]packet{l.video, l.audio} {
		if len(all) > 0 && (i == 0 || all[0].DTS < first) {
			first = all[0].DTS
		}
	}
	shift := func(all []packet) []packet {
		all = slices.Clone(all)
		for i := range all {
			all[i].DTS -= first
			all[i].PTS -= first
		}
		return all
	}
	return crcList{shift(l.video), shift(l.audio)}
}

// clipCRC is what every pull of the clip must be.
func clipCRC(t testing.TB) crcList {
	t.Helper()
	p := ffmpeg(t, "-loglevel", "error", "-i", clipFile(t), "-map", "0", "-c", "copy", "-f", "framecrc", "-")
	if code := p.wait(t, lengthened(15*time.Second)); code != 0 {
		t.Fatalf("ffmpeg: %d: %s", code, p.stderr.tail(10))
	}
	list := parseCRC(t, p.stdout.String()).fromZero()
	if len(list.video) != clipVideo || len(list.audio) != clipAudio {
		t.Fatalf("the clip has %d video and %d audio packets, it should have %d and %d", len(list.video), len(list.audio), clipVideo, clipAudio)
	}
	return list
}

// differ says where two lists differ first, or nothing.
func (l crcList) differ(want crcList) string {
	if len(l.video) != len(want.video) || len(l.audio) != len(want.audio) {
		return fmt.Sprintf("%d video and %d audio packets, want %d and %d", len(l.video), len(l.audio), len(want.video), len(want.audio))
	}
	for _, kind := range []struct {
		name      string
		got, want []packet
	}{{"video", l.video, want.video}, {"audio", l.audio, want.audio}} {
		for i := range kind.got {
			if kind.got[i] != kind.want[i] {
				return fmt.Sprintf("%s packet %d is %+v, want %+v", kind.name, i, kind.got[i], kind.want[i])
			}
		}
	}
	return ""
}

// The end of a stream is an end to ffmpeg, over each protocol, and no lost
// connection.
func TestFFmpegSeesTheEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, flags("--grace 0"))
	pulls := []*process{
		pull(t, "http://"+s.HTTP+"/live/s.flv?wait=30"),
		pull(t, "rtmp://"+s.RTMP+"/live/s?wait=30"),
	}
	if p := push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s"); p.wait(t, lengthened(20*time.Second)) != 0 {
		t.Fatal(p.stderr.tail(10))
	}
	for _, p := range pulls {
		if code := p.wait(t, lengthened(20*time.Second)); code != 0 {
			t.Errorf("exit code %d: %s", code, p.stderr.tail(10))
		}
		if lines := p.stderr.matches("prematurely|Input/output error"); len(lines) > 0 {
			t.Errorf("ffmpeg %q: %q", p.cmd.Args, lines)
		}
	}
}
