//go:build linux

package realtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A mediaTrack is pictures or sound of a file, as ffprobe reads them.
type mediaTrack struct {
	codec    string // ffmpeg's name
	config   []byte // the body of the sequence header, empty where there is none
	rate     int    // of sound
	channels int
	units    []mediaUnit
}

// A mediaUnit is a picture or a frame of sound.
type mediaUnit struct {
	decoded, shown time.Duration
	key            bool
	data           []byte // as a file has it
}

// A mediaSource is a file to publish. A track that is not there is nil.
type mediaSource struct {
	name, file   string
	video, audio *mediaTrack
}

// sources are the files, by what encodes them. AV1 and VP9 are without pictures that are not
// shown, since those are other packets in some protocols.
var sources = []struct {
	name         string
	video, audio []string
}{
	{"H.264 with B-frames and AAC", []string{"-c:v", "libx264", "-bf", "3", "-preset", "ultrafast"}, []string{"-c:a", "aac"}},
	{"HEVC and Opus", []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:info=0:bframes=0"}, []string{"-c:a", "libopus"}},
	{"AV1 and FLAC", []string{"-c:v", "libsvtav1", "-preset", "12", "-svtav1-params", "pred-struct=1"}, []string{"-c:a", "flac"}},
	{"VP9 and AC-3", []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-lag-in-frames", "0"}, []string{"-c:a", "ac3"}},
	{"H.264 and MP3", []string{"-c:v", "libx264", "-bf", "0", "-preset", "ultrafast"}, []string{"-c:a", "libmp3lame"}},
	{"H.264 and A-law", []string{"-c:v", "libx264", "-bf", "0", "-preset", "ultrafast"}, []string{"-c:a", "pcm_alaw", "-ar", "8000", "-ac", "1"}},
	{"H.264 and mu-law", []string{"-c:v", "libx264", "-bf", "0", "-preset", "ultrafast"}, []string{"-c:a", "pcm_mulaw", "-ar", "8000", "-ac", "1"}},
	{"HEVC with B-frames and AAC of 44.1 kHz", []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:info=0"}, []string{"-c:a", "aac", "-ar", "44100", "-ac", "1"}},
}

const sourceSeconds = 4

// makeSource encodes a source into a folder.
func makeSource(t testing.TB, dir string, number int) *mediaSource {
	t.Helper()
	s := &mediaSource{name: sources[number].name, file: filepath.Join(dir, fmt.Sprintf("source%d.mkv", number))}
	args := []string{"-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000",
		"-t", strconv.Itoa(sourceSeconds), "-pix_fmt", "yuv420p", "-g", "25", "-ac", "2"}
	args = append(append(args, sources[number].video...), sources[number].audio...)
	if p := ffmpeg(t, append(args, s.file)...); p.wait(t, lengthened(2*time.Minute)) != 0 {
		t.Fatal(p.stderr.tail(10))
	}
	var err error
	if s.video, s.audio, err = readMedia(s.file); err != nil {
		t.Fatal(err)
	}
	s.audio.exact(t)
	s.video.decodeTimes()
	switch s.video.codec {
	case "vp9":
		// Matroska has none: version 1; profile 0, level 1.1, 8 bits of 4:2:0, colours not known.
		s.video.config = []byte{1, 0, 0, 0, 0, 11, 8<<4 | 1<<1, 2, 2, 2, 0, 0}
	}
	if s.audio.codec == "flac" {
		s.audio.config = append([]byte("fLaC\x80\x00\x00\x22"), s.audio.config...)
	}
	return s
}

// exact sets the times of sound by its samples: the file has them in ms.
func (m *mediaTrack) exact(t testing.TB) {
	at := m.units[0].shown
	samples := 0
	for i := range m.units {
		u := &m.units[i]
		exact := at + time.Duration(samples)*time.Second/time.Duration(m.rate)
		if d := exact - u.shown; d.Abs() > time.Millisecond {
			t.Fatalf("%s: frame %d is at %v, by its samples at %v", m.codec, i, u.shown, exact)
		}
		u.shown, u.decoded = exact, exact
		samples += m.samples(u.data)
	}
}

// decodeTimes sets when pictures are decoded, which the file does not say: in steps of the
// times at which they are shown, none after its own.
func (m *mediaTrack) decodeTimes() {
	var shown []time.Duration
	for _, u := range m.units {
		shown = append(shown, u.shown)
	}
	slices.Sort(shown)
	delay := time.Duration(0)
	for i, u := range m.units {
		delay = max(delay, shown[i]-u.shown)
	}
	for i := range m.units {
		m.units[i].decoded = shown[i] - delay
	}
}

// samples is how long a frame is, as the encoders of the sources make it.
func (m *mediaTrack) samples(frame []byte) int {
	switch m.codec {
	case "aac":
		return 1024
	case "mp3":
		return 1152
	case "ac3":
		return 1536
	case "flac":
		return 4608
	case "opus":
		return 960
	}
	return len(frame) / m.channels
}

// readMedia reads a file, or what a player has stored.
func readMedia(file string) (video, audio *mediaTrack, err error) {
	text, err := runTool("ffprobe", "-v", "error", "-show_streams", "-show_packets", "-show_data", "-of", "json", file)
	if err != nil {
		return nil, nil, err
	}
	var list struct {
		Streams []struct {
			Index     int
			CodecType string `json:"codec_type"`
			CodecName string `json:"codec_name"`
			Extradata string
			Rate      string `json:"sample_rate"`
			Channels  int
		}
		Packets []struct {
			Stream int    `json:"stream_index"`
			PTS    string `json:"pts_time"`
			DTS    string `json:"dts_time"`
			Flags  string
			Data   string
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, nil, err
	}
	tracks := map[int]*mediaTrack{}
	for _, s := range list.Streams {
		m := &mediaTrack{codec: s.CodecName, config: hexDump(s.Extradata), channels: s.Channels}
		m.rate, _ = strconv.Atoi(s.Rate)
		tracks[s.Index] = m
		switch s.CodecType {
		case "video":
			video = m
		case "audio":
			audio = m
		}
	}
	for _, p := range list.Packets {
		u := mediaUnit{key: strings.HasPrefix(p.Flags, "K"), data: hexDump(p.Data)}
		pts, err := strconv.ParseFloat(p.PTS, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: a packet at %q", file, p.PTS)
		}
		dts, err := strconv.ParseFloat(p.DTS, 64)
		if err != nil {
			dts = pts
		}
		u.shown, u.decoded = seconds(pts), seconds(dts)
		tracks[p.Stream].units = append(tracks[p.Stream].units, u)
	}
	return video, audio, nil
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond)
}

// hexDump reads what ffprobe prints of bytes.
func hexDump(text string) []byte {
	var all []byte
	for line := range strings.Lines(text) {
		_, line, ok := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		if !ok {
			continue
		}
		p, err := hex.DecodeString(strings.ReplaceAll(line[:min(40, len(line))], " ", ""))
		if err != nil {
			panic(err)
		}
		all = append(all, p...)
	}
	return all
}

// A played unit is what a player has got of a picture or a frame of sound.
type played struct {
	shown time.Duration
	sum   string
}

// nals splits what a file or a transport stream has of a picture of H.264 or HEVC.
func nals(p []byte) (list [][]byte) {
	if !lengthPrefixed(p) { // start codes
		for _, part := range bytes.Split(p, []byte{0, 0, 1}) {
			if part = bytes.TrimRight(part, "\x00"); len(part) > 0 {
				list = append(list, part)
			}
		}
		return list
	}
	for len(p) >= 4 {
		n := int(p[0])<<24 | int(p[1])<<16 | int(p[2])<<8 | int(p[3])
		if n > len(p)-4 {
			return append(list, p)
		}
		list, p = append(list, p[4:4+n]), p[4+n:]
	}
	return list
}

// lengthPrefixed reports whether all of p is units with lengths of four bytes.
func lengthPrefixed(p []byte) bool {
	for len(p) >= 4 {
		n := int(p[0])<<24 | int(p[1])<<16 | int(p[2])<<8 | int(p[3])
		if n == 0 || n > len(p)-4 {
			return false
		}
		p = p[4+n:]
	}
	return len(p) == 0
}

// sumOf is the elementary stream of a unit: without parameter sets, delimiters and
// lengths, which each protocol has at another place. It is empty when nothing is left.
func sumOf(codec string, data []byte) string {
	h := sha256.New()
	n := 0
	add := func(p []byte) {
		h.Write(p)
		n += len(p)
	}
	switch codec {
	case "h264":
		for _, p := range nals(data) {
			if kind := p[0] & 0x1f; kind != 7 && kind != 8 && kind != 9 && kind != 12 {
				add(p)
			}
		}
	case "hevc":
		for _, p := range nals(data) {
			if kind := p[0] >> 1 & 0x3f; kind < 32 || kind > 35 && kind != 38 {
				add(p)
			}
		}
	case "av1":
		for len(data) > 0 {
			kind, header, size := data[0]>>3&15, 1+int(data[0]>>2&1), 0
			length := len(data) - header
			if data[0]&2 != 0 {
				length = 0
				for shift := 0; header+size < len(data); shift += 7 {
					b := data[header+size]
					size++
					length |= int(b&0x7f) << shift
					if b < 0x80 {
						break
					}
				}
			}
			end := min(len(data), header+size+length)
			if kind != 2 && kind != 1 { // a delimiter, or a sequence header
				add([]byte{kind})
				add(data[header+size : end])
			}
			data = data[end:]
		}
	case "aac":
		if len(data) > 7 && data[0] == 0xff && data[1]&0xf6 == 0xf0 { // ADTS, of a transport stream
			data = data[7+2*(1-int(data[1]&1)):]
		}
		add(data)
	default:
		add(data)
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// sums are the units of a track as they are compared.
func (m *mediaTrack) sums() (list []played) {
	if m == nil {
		return nil
	}
	for _, u := range m.units {
		if sum := sumOf(m.codec, u.data); sum != "" {
			list = append(list, played{u.shown, sum})
		}
	}
	return list
}
