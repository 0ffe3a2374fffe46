//go:build linux

package realtest

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// movies are the MP4 files in a directory and below.
func movies(t testing.TB, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(name, ".mp4") {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A probedFile is what ffprobe says of a file.
type probedFile struct {
	Streams []struct {
		Type    string `json:"codec_type"`
		Packets string `json:"nb_read_packets"`
	}
	Format struct {
		Duration string `json:"duration"`
	}
}

func probeMovie(t *testing.T, name string) (seconds float64, packets map[string]int) {
	t.Helper()
	p := start(t, nil, tool(t, "ffprobe"), "-v", "error", "-count_packets", "-of", "json", "-show_entries", "format=duration:stream=codec_type,nb_read_packets", name)
	if code := p.wait(t, lengthened(15*time.Second)); code != 0 || p.stderr.String() != "" {
		t.Fatalf("ffprobe: %d: %s", code, p.stderr.tail(5))
	}
	var f probedFile
	if err := json.Unmarshal([]byte(p.stdout.String()), &f); err != nil {
		t.Fatal(err)
	}
	packets = map[string]int{}
	for _, s := range f.Streams {
		packets[s.Type], _ = strconv.Atoi(s.Packets)
	}
	seconds, err := strconv.ParseFloat(f.Format.Duration, 64)
	if err != nil {
		t.Fatalf("%+v: %v", f, err)
	}
	return seconds, packets
}

// A server that is killed while it records loses a fragment, of a second, at the most:
// what is in the file before it is what was published.
func TestMovieOfAKilledServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, flags("--record-format mp4 --record "+dir))
	v := s.view(t, "flv", "s", "wait=60") // from the beginning: the clip has little more than is awaited
	push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", "-re")
	v.awaitMedia(t, 400)
	before, _ := v.last()
	seen := float64(before.Time-v.media()[0].Time) / 1000
	// The newest fragment comes when it has ended.
	const most = 2 + 1 // the distance of the clip's key frames, and a busy machine
	eventually(t, lengthened(10*time.Second), func() string {
		files := movies(t, dir)
		if len(files) != 1 {
			return "no recording, or more than one"
		}
		if seconds, _ := probeMovie(t, files[0]); seconds < seen-most {
			return "the recording lags behind what the viewers have"
		}
		return ""
	})
	s.kill()
	name := movies(t, dir)[0]
	seconds, packets := probeMovie(t, name)
	if seconds < seen-most || packets["video"] < 20*int(seen-most) || packets["audio"] < 20*int(seen-most) {
		t.Errorf("%v s with %v of %v s", seconds, packets, seen)
	}
	checkMovie(t, name, 0)
	// Another server serves it.
	again := serve(t, flags("--record-format mp4 --record "+dir))
	resp := again.api(t, http.MethodGet, "/api/clips?stream=live/s&from=-5m")
	defer resp.Body.Close()
	clip := filepath.Join(t.TempDir(), "clip.mp4")
	f, err := os.Create(clip)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := io.Copy(f, resp.Body); err != nil || resp.StatusCode != http.StatusOK || n < 10_000 {
		t.Fatalf("%s, %d bytes: %v", resp.Status, n, err)
	}
	checkMovie(t, clip, 0)
}

// checkMovie compares a file, read by ffmpeg, with the clip from its beginning.
func checkMovie(t *testing.T, name string, least int) {
	t.Helper()
	p := ffmpeg(t, "-loglevel", "error", "-i", name, "-map", "0", "-c", "copy", "-f", "framecrc", "-")
	if code := p.wait(t, lengthened(15*time.Second)); code != 0 {
		t.Fatalf("ffmpeg: %d: %s", code, p.stderr.tail(10))
	}
	got, want := inMilliseconds(t, p.stdout.String()).fromZero(), clipCRC(t)
	if len(got.video) < max(least, 30) || len(got.audio) < 30 {
		t.Errorf("%d pictures and %d frames of sound", len(got.video), len(got.audio))
	}
	want.video, want.audio = want.video[:min(len(got.video), len(want.video))], want.audio[:min(len(got.audio), len(want.audio))]
	// Times of sound follow the samples, FLV's are rounded.
	for _, kind := range []struct{ got, want []packet }{{got.video, want.video}, {got.audio, want.audio}} {
		for i := range kind.got {
			for _, d := range []struct{ got, want *int }{{&kind.got[i].DTS, &kind.want[i].DTS}, {&kind.got[i].PTS, &kind.want[i].PTS}} {
				if *d.got-*d.want >= -1 && *d.got-*d.want <= 1 {
					*d.got = *d.want
				}
			}
		}
	}
	if diff := got.differ(want); diff != "" {
		t.Errorf("%s: %s", filepath.Base(name), diff)
	}
}

// inMilliseconds reads framecrc with the streams' time bases.
func inMilliseconds(t *testing.T, text string) crcList {
	t.Helper()
	base, kinds := map[string][2]int{}, map[string]string{}
	for line := range strings.Lines(text) {
		number, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if n, ok := strings.CutPrefix(number, "#tb "); ok {
			over, under, _ := strings.Cut(value, "/")
			a, _ := strconv.Atoi(over)
			b, _ := strconv.Atoi(under)
			base[n] = [2]int{a, b}
		} else if n, ok := strings.CutPrefix(number, "#media_type "); ok {
			kinds[value] = n
		}
	}
	list := parseCRC(t, text)
	for kind, packets := range map[string][]packet{"video": list.video, "audio": list.audio} {
		b := base[kinds[kind]]
		for i := range packets {
			p := &packets[i]
			p.DTS, p.PTS = (p.DTS*b[0]*1000+b[1]/2)/b[1], (p.PTS*b[0]*1000+b[1]/2)/b[1]
		}
	}
	return list
}

// A recording that ends is whole, and decoded without a complaint.
func TestMovieOfAServerThatEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, flags("--record-format mp4 --record "+dir))
	pushAll(t, s, "rtmp://"+s.RTMP+"/live/s")
	s.signal(t, syscall.SIGTERM) // one: a second would cut off what is being written
	if code := s.wait(t, lengthened(20*time.Second)); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	files := movies(t, dir)
	if len(files) != 1 {
		t.Fatalf("the recordings are %q", files)
	}
	if seconds, packets := probeMovie(t, files[0]); packets["video"] != clipVideo || packets["audio"] != clipAudio || seconds < 9.9 || seconds > 10.2 {
		t.Errorf("%v s, %v", seconds, packets)
	}
	checkMovie(t, files[0], clipVideo)
	decode := ffmpeg(t, "-loglevel", "warning", "-xerror", "-i", files[0], "-f", "null", "-")
	if code := decode.wait(t, lengthened(30*time.Second)); code != 0 || decode.stderr.String() != "" {
		t.Errorf("%d: %s", code, decode.stderr.tail(10))
	}
}
