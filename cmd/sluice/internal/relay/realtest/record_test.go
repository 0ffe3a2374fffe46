//go:build linux

package realtest

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recordings are the FLV files in a directory and below.
func recordings(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(name, ".flv") {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A recording is whole up to its last tag when the server is killed while it
// writes: ffmpeg reads from it what was published, and sluice flv probe counts
// what ffprobe counts.
func TestRecordingOfAKilledServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, flags("--record "+dir))
	v := s.view(t, "flv", "s", "wait=60") // from the beginning: the clip has little more than is awaited
	push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", "-re")
	v.awaitMedia(t, 400)
	before, _ := v.last()
	// What was published is in the file soon, not only when it ends.
	eventually(t, lengthened(5*time.Second), func() string {
		files := recordings(t, dir)
		if len(files) != 1 {
			return "no recording, or more than one"
		}
		if tags, _ := readFile(t, files[0]); len(tags) == 0 || tags[len(tags)-1].Time+100 < before.Time-v.media()[0].Time {
			return "the recording lags behind what the viewers have"
		}
		return ""
	})
	s.kill()
	name := recordings(t, dir)[0]
	tags, err := readFile(t, name)
	if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("after %d tags: %v", len(tags), err)
	}
	checkRecording(t, name, tags, clipCRC(t))
}

// pushAll pushes the clip, and waits until the server has all of it: over HTTP ffmpeg does
// not.
func pushAll(t *testing.T, s *server, url string) {
	t.Helper()
	p := push(t, clipFile(t), url)
	if code := p.wait(t, lengthened(20*time.Second)); code != 0 {
		t.Fatalf("the push ended with %d: %s", code, p.stderr.tail(10))
	}
	eventually(t, lengthened(10*time.Second), func() string {
		if len(s.stderr.matches("publisher ended")) == 0 {
			return "the publisher has not ended"
		}
		return ""
	})
}

// A recording that ends with the server's good will is whole.
func TestRecordingOfAServerThatEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, flags("--record "+dir))
	pushAll(t, s, "http://"+s.HTTP+"/live/cam/1.flv")
	s.signal(t, syscall.SIGTERM)
	if code := s.wait(t, lengthened(10*time.Second)); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	files := recordings(t, dir)
	if len(files) != 1 {
		t.Fatalf("the recordings are %q", files)
	}
	tags, err := readFile(t, files[0])
	if err != io.EOF {
		t.Errorf("the file ends with %v", err)
	}
	want := clipCRC(t)
	if video, audio := checkRecording(t, files[0], tags, want); video != clipVideo || audio != clipAudio {
		t.Errorf("recorded are %d video and %d audio packets", video, audio)
	}
}

func readFile(t testing.TB, name string) ([]tag, error) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src := newFLV(f)
	var tags []tag
	for {
		g, err := src.next()
		if err != nil {
			return tags, err
		}
		tags = append(tags, g)
	}
}

// checkRecording holds the beginning of the clip against a file, by ffmpeg, and
// what ffprobe says of it against sluice flv probe.
func checkRecording(t *testing.T, name string, tags []tag, want crcList) (video, audio int) {
	t.Helper()
	var all []digest
	for _, g := range tags {
		if g.media() {
			all = append(all, g.digest())
		}
	}
	video, audio = counts(all)
	p := ffmpeg(t, "-loglevel", "error", "-i", name, "-map", "0", "-c", "copy", "-f", "framecrc", "-")
	if code := p.wait(t, lengthened(15*time.Second)); code != 0 {
		t.Fatalf("ffmpeg: %d: %s", code, p.stderr.tail(10))
	}
	got := parseCRC(t, p.stdout.String()).fromZero()
	if len(got.video) != video || len(got.audio) != audio {
		t.Errorf("ffmpeg reads %d video and %d audio packets, there are %d and %d", len(got.video), len(got.audio), video, audio)
	}
	want.video, want.audio = want.video[:min(len(got.video), len(want.video))], want.audio[:min(len(got.audio), len(want.audio))]
	if diff := got.differ(want); diff != "" {
		t.Errorf("the recording: %s", diff)
	}

	probe := start(t, nil, sluice(t), "flv", "probe", "--json", name)
	if code := probe.wait(t, lengthened(10*time.Second)); code != 0 {
		t.Fatalf("sluice flv probe: %d: %s", code, probe.stderr.tail(5))
	}
	ffprobe := start(t, nil, tool(t, "ffprobe"), "-v", "error", "-count_packets", "-of", "json",
		"-show_entries", "stream=codec_type,codec_name,nb_read_packets,width,height,sample_rate,channels", name)
	if code := ffprobe.wait(t, lengthened(10*time.Second)); code != 0 {
		t.Fatalf("ffprobe: %d: %s", code, ffprobe.stderr.tail(5))
	}
	var theirs struct{ Streams []probedStream }
	if err := json.Unmarshal([]byte(ffprobe.stdout.String()), &theirs); err != nil {
		t.Fatal(err)
	}
	checkProbe(t, probe.stdout.String(), theirs.Streams)
	return video, audio
}
