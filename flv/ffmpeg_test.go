package flv_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// flvTool runs ffmpeg or ffprobe to its end and returns what it prints. These
// tests hold this package against other people's program: without it they fail.
func flvTool(t *testing.T, program, args string, more ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(strings.Fields(args), more...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", program, args, err, stderr.Bytes())
	}
	return out
}

// flvMake has ffmpeg make a file, of a second of test picture and sound unless
// args say otherwise, and returns it and its bytes.
func flvMake(t *testing.T, name, args string) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	flvTool(t, "ffmpeg", "-nostdin -hide_banner -loglevel error "+args, path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, content
}

// flvBox returns the body of the first box of an MP4 file with a name, which
// stands nowhere else before.
func flvBox(t *testing.T, file []byte, name string) []byte {
	t.Helper()
	at := bytes.Index(file, []byte(name))
	if at < 4 {
		t.Fatalf("no box %s", name)
	}
	size := int(binary.BigEndian.Uint32(file[at-4:]))
	return file[at+4 : at-4+size]
}

// flvStream is what ffprobe says of a stream.
type flvStream struct {
	Kind     string `json:"codec_type"`
	Codec    string `json:"codec_name"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	Profile  string `json:"profile"`
	Level    int    `json:"level"`
	Rate     int    `json:"sample_rate,string"`
	Channels int    `json:"channels"`
	Packets  int64  `json:"nb_read_packets,string"`
}

// flvStreams asks ffprobe.
func flvStreams(t *testing.T, path string) (video, audio flvStream, keys int64) {
	t.Helper()
	out := flvTool(t, "ffprobe", "-v error -count_packets -show_streams -show_packets -of json", path)
	var answer struct {
		Streams []flvStream
		Packets []struct {
			Kind  string `json:"codec_type"`
			Flags string
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	for _, s := range answer.Streams {
		switch s.Kind {
		case "video":
			video = s
		case "audio":
			audio = s
		}
	}
	for _, p := range answer.Packets {
		if p.Kind == "video" && strings.Contains(p.Flags, "K") {
			keys++
		}
	}
	return video, audio, keys
}
