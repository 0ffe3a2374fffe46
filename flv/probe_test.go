package flv_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// fileOf makes a file of tags.
func fileOf(h flv.Header, tags ...flat) []byte {
	p := append(h.Append(nil), 0, 0, 0, 0)
	for _, t := range tags {
		t.header.Size = len(t.payload)
		p = append(t.header.Append(p), t.payload...)
		p = binary.BigEndian.AppendUint32(p, uint32(11+len(t.payload)))
	}
	return p
}

func packet(typ flv.TagType, ms uint32, payload string) flat {
	return flat{flv.TagHeader{Type: typ, Time: ms}, payload}
}

func probe(t *testing.T, file []byte) flv.Report {
	t.Helper()
	a := mem.New(mem.Options{Name: t.Name()})
	sluicetest.NoLeaks(t, a)
	r, err := flv.Probe(bytes.NewReader(file), flv.ProbeOptions{Allocator: a})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestProbeOfTheClip(t *testing.T) {
	r := probe(t, flvclip.File)
	v, a := r.Video, r.Audio
	if v == nil || a == nil {
		t.Fatalf("%+v", r)
	}
	if v.Packets != 300 || v.Configs != 1 || v.Ends != 1 || v.KeyFrames != 5 || v.Codec != flv.CodecAVC || v.Width != 640 || v.Height != 360 ||
		math.Abs(v.FrameRate-30) > 0.01 || v.First != 0 || v.Last != 9967 || v.Duration != 10000 || v.Malformed+v.Others+v.Gaps+v.Backward+v.Changes != 0 {
		t.Errorf("video: %+v", *v)
	}
	if want := (flv.GOPReport{Groups: 4, MinTime: 2000, MeanTime: 2000, MaxTime: 2000, MinFrames: 60, MaxFrames: 60}); v.GOP != want {
		t.Errorf("groups: %+v", v.GOP)
	}
	if a.Packets != 432 || a.Configs != 1 || a.Codec != flv.CodecAAC || a.Rate != 44100 || a.Channels != 1 || a.Malformed+a.Others != 0 {
		t.Errorf("audio: %+v", *a)
	}
	if r.Bytes != int64(len(flvclip.File)) || r.Truncated != nil || len(r.Jumps) > 0 || len(r.Problems()) > 0 || r.Duration != 10075 {
		t.Errorf("%+v", r)
	}
	if got, _ := amf0.Object(r.Script.Metadata).Get("width"); got != 640.0 || !slices.Equal(r.Script.Names, []string{"onMetaData"}) {
		t.Errorf("script: %+v", r.Script)
	}
	for how, in := range sluicetest.Chunkings(flvclip.File) {
		again, err := flv.Probe(in, flv.ProbeOptions{})
		if err != nil || again.String() != r.String() {
			t.Errorf("%s: %v, %s", how, err, again)
		}
	}
}

// TestProbeAgreesWithFFprobe makes files of several codecs and compares.
func TestProbeAgreesWithFFprobe(t *testing.T) {
	const picture = "-f lavfi -i testsrc2=size=162x122:rate=25:duration=2 "
	const sound = "-f lavfi -i sine=frequency=440:duration=2 "
	for _, c := range []struct {
		args         string
		video, audio flv.FourCC
		codecs       string // as ffprobe calls them
	}{
		{picture + sound + "-c:v libx264 -preset ultrafast -g 10 -c:a aac -ac 2 -ar 48000", flv.CodecAVC, flv.CodecAAC, "h264 aac"},
		{picture + sound + "-c:v libx264 -bf 3 -g 15 -c:a libmp3lame -ar 22050 -ac 1", flv.CodecAVC, flv.CodecMP3, "h264 mp3"},
		{picture + sound + "-c:v flv -g 7 -c:a libspeex -ar 16000 -ac 1", flv.CodecFLV1, flv.CodecSpeex, "flv1 speex"},
		{picture + "-c:v flashsv -g 5", flv.CodecFSV1, 0, "flashsv "},
		{sound + "-c:a pcm_s16le -ar 44100 -ac 2", 0, flv.CodecPCMLE, " pcm_s16le"},
		{sound + "-c:a pcm_mulaw -ar 8000 -ac 1", 0, flv.CodecMuLaw, " pcm_mulaw"},
		{sound + "-c:a nellymoser -ar 22050 -ac 1", 0, flv.CodecNelly, " nellymoser"},
		{sound + "-c:a adpcm_swf -ar 11025 -ac 1", 0, flv.CodecADPCM, " adpcm_swf"},
	} {
		path, file := flvMake(t, "a.flv", c.args)
		video, audio, keys := flvStreams(t, path)
		r := probe(t, file)
		if video.Codec+" "+audio.Codec != c.codecs {
			t.Errorf("%s: ffprobe says %s %s", c.args, video.Codec, audio.Codec)
		}
		if v := r.Video; v != nil != (c.video != 0) {
			t.Errorf("%s: video %+v", c.args, v)
		} else if v != nil {
			if v.Codec != c.video || v.Packets != video.Packets || v.KeyFrames != keys || v.Malformed+v.Backward != 0 || math.Abs(v.FrameRate-25) > 0.01 {
				t.Errorf("%s: %+v, ffprobe says %+v, %d key frames", c.args, *v, video, keys)
			}
			if c.video == flv.CodecAVC && (v.Width != video.Width || v.Height != video.Height || v.Level != video.Level) {
				t.Errorf("%s: %+v, ffprobe says %+v", c.args, *v, video)
			}
		}
		if a := r.Audio; a != nil != (c.audio != 0) {
			t.Errorf("%s: audio %+v", c.args, a)
		} else if a != nil && (a.Codec != c.audio || a.Packets != audio.Packets || a.Rate != audio.Rate || a.Channels != audio.Channels || a.Malformed+a.Backward != 0) {
			t.Errorf("%s: %+v, ffprobe says %+v", c.args, *a, audio)
		}
		if problems := r.Problems(); len(problems) > 0 {
			t.Errorf("%s: %q", c.args, problems)
		}
	}
}

// TestFFmpegReadsWhatTheEncoderWrites passes a file through both halves, at
// times beyond 24 bits.
func TestFFmpegReadsWhatTheEncoderWrites(t *testing.T) {
	tags := walkClip()
	for i := range tags {
		if tags[i].header.Type != flv.TagScript { // its duration would be wrong
			tags[i].header.Time += 1<<24 - 5000 // 24 bits end in the middle
		}
	}
	file := fileOf(flv.Header{Audio: true, Video: true}, tags[1:]...)
	path := t.TempDir() + "/late.flv"
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	video, audio, keys := flvStreams(t, path)
	if video.Packets != 300 || audio.Packets != 432 || keys != 5 {
		t.Errorf("ffprobe sees %d and %d packets, %d key frames", video.Packets, audio.Packets, keys)
	}
	out := flvTool(t, "ffprobe", "-v error -select_streams v -show_entries packet=dts_time -of csv=p=0", path)
	lines := strings.Fields(string(out))
	if first, last := lines[0], lines[len(lines)-1]; first != "16772.216000" || last != "16782.183000" {
		t.Errorf("ffprobe sees times from %s to %s", first, last)
	}
	if r := probe(t, file); r.Video.First != 1<<24-5000 || r.Video.Last != 1<<24-5000+9967 || len(r.Jumps) > 0 {
		t.Errorf("%+v", *r.Video)
	}
}

// TestProbeOfHEVC has both forms of HEVC, with a configuration that x265 wrote.
func TestProbeOfHEVC(t *testing.T) {
	_, mp4 := flvMake(t, "a.mp4", "-f lavfi -i testsrc2=size=642x362:rate=30 -frames:v 1 -pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params log-level=none")
	config := string(flvBox(t, mp4, "hvcC"))
	for _, enhanced := range []bool{false, true} {
		h := flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Enhanced: enhanced}
		tags := []flat{packet(flv.TagVideo, 0, string(h.Append(nil))+config)}
		for i := range 40 {
			h := flv.VideoHeader{Frame: flv.FrameInter, Codec: flv.CodecHEVC, Packet: flv.PacketCodedFrames, CompositionTime: 40, Enhanced: enhanced}
			if i%10 == 0 {
				h.Frame = flv.FrameKey
			}
			if enhanced && i%2 == 1 {
				h.Packet = flv.PacketCodedFramesX
			}
			tags = append(tags, packet(flv.TagVideo, uint32(i*25), string(h.Append(nil))+"picture"))
		}
		h.Packet = flv.PacketSequenceEnd
		tags = append(tags, packet(flv.TagVideo, 1000, string(h.Append(nil))))
		if enhanced {
			colours := flv.VideoHeader{Frame: flv.FrameKey, Codec: flv.CodecHEVC, Packet: flv.PacketMetadata, Enhanced: true}
			tags = append(tags, packet(flv.TagVideo, 1000, string(colours.Append(nil))+"\x02\x00\x09colorInfo\x03\x00\x00\x09"))
		}
		r := probe(t, fileOf(flv.Header{Video: true}, tags...))
		v := r.Video
		if v == nil || v.Codec != flv.CodecHEVC || v.Enhanced != enhanced || v.Width != 642 || v.Height != 362 || v.Packets != 40 || v.KeyFrames != 4 ||
			v.Configs != 1 || v.Ends != 1 || math.Abs(v.FrameRate-40) > 0.01 || v.GOP.MaxFrames != 10 || len(r.Problems()) > 0 {
			t.Errorf("enhanced %t: %+v, %q", enhanced, v, r.Problems())
		}
	}
}

func TestProbeAtEveryEnd(t *testing.T) {
	file := fileOf(flv.Header{Audio: true, Video: true},
		packet(flv.TagVideo, 0, "\x12p"), packet(flv.TagAudio, 10, "\x2f"), packet(flv.TagVideo, 40, "\x22q"))
	for n := range len(file) + 1 {
		r, err := flv.Probe(iotest.OneByteReader(bytes.NewReader(file[:n])), flv.ProbeOptions{})
		switch {
		case n == 0 && err == io.EOF:
			continue
		case n < flv.HeaderLen && errors.Is(err, io.ErrUnexpectedEOF):
			continue
		case err != nil:
			t.Fatalf("%d bytes: %v", n, err)
		}
		if r.Bytes != int64(n) {
			t.Errorf("%d bytes: read %d", n, r.Bytes)
		}
		if tr := r.Truncated; tr != nil && (tr.Offset+tr.Bytes != int64(n) || tr.Bytes == 0) {
			t.Errorf("%d bytes: %+v", n, *tr)
		}
		whole := map[int]bool{9: true, 13: true, 26: true, 30: true, 42: true, 46: true, 59: true, 63: true}[n]
		if (r.Truncated == nil) != whole {
			t.Errorf("%d bytes: truncated %+v", n, r.Truncated)
		}
		if n == 62 && r.Video.Packets != 2 {
			t.Errorf("%+v", *r.Video)
		}
	}
}

func TestProbeFindsWhatIsWrongWithTime(t *testing.T) {
	file := fileOf(flv.Header{Video: true, Audio: true},
		packet(flv.TagVideo, 1<<32-50, "\x12p"), // wraps without a fault
		packet(flv.TagVideo, 1<<32-10, "\x22p"),
		packet(flv.TagVideo, 30, "\x22p"),
		packet(flv.TagAudio, 30, "\x2fa"),
		packet(flv.TagVideo, 2030, "\x22p"),
		packet(flv.TagVideo, 1990, "\x22p"),
		packet(flv.TagVideo, 2070, "\x22p"))
	r := probe(t, file)
	v := r.Video
	if v.Gaps != 1 || v.Backward != 1 || v.First != 1<<32-50 || v.Last != 1<<32+2070 || len(r.Jumps) != 2 {
		t.Fatalf("%+v, %+v", *v, r.Jumps)
	}
	wants := []flv.Jump{
		{Track: flv.TagVideo, Offset: 13 + 3*17 + 17, From: 1<<32 + 30, To: 1<<32 + 2030},
		{Track: flv.TagVideo, Offset: 13 + 5*17, From: 1<<32 + 2030, To: 1<<32 + 1990},
	}
	if !slices.Equal(r.Jumps, wants) {
		t.Errorf("%+v, want %+v", r.Jumps, wants)
	}
	wide, err := flv.Probe(bytes.NewReader(file), flv.ProbeOptions{Gap: 3 * time.Second})
	if err != nil || wide.Video.Gaps != 0 {
		t.Errorf("%v, %+v", err, *wide.Video)
	}
}

// TestProbeListsAFewOfMany has a file of nothing but faults.
func TestProbeListsAFewOfMany(t *testing.T) {
	var tags []flat
	for i := range uint32(1000) {
		tags = append(tags, packet(flv.TagVideo, 1_000_000-i, "\x22p"), packet(flv.TagScript, 0, "\x02\x00\x02"+string([]byte{byte(i), byte(i >> 8)})))
	}
	r := probe(t, fileOf(flv.Header{}, tags...))
	if len(r.Jumps) > 20 || len(r.Script.Names) > 20 || r.Video.Backward != 999 || r.Script.Tags != 1000 {
		t.Errorf("%d jumps, %d names, %d steps back, %d tags", len(r.Jumps), len(r.Script.Names), r.Video.Backward, r.Script.Tags)
	}
}

func TestProbeReportsProblems(t *testing.T) {
	config := "\x17\x00\x00\x00\x00"
	for _, c := range []struct {
		says string
		file []byte
	}{
		{"the size after the last tag is missing", func() []byte {
			f := fileOf(flv.Header{Audio: true}, packet(flv.TagAudio, 0, "\x2f"))
			return f[:len(f)-4]
		}()},
		{"ends inside the tag at byte 13, of which it has 11 bytes", func() []byte {
			f := fileOf(flv.Header{Audio: true}, packet(flv.TagAudio, 0, "\x2f"))
			return f[:len(f)-5]
		}()},
		{"1 tag of an unknown type", fileOf(flv.Header{}, packet(5, 0, "x"))},
		{"1 tag with another size after it", append(fileOf(flv.Header{}, packet(flv.TagScript, 0, "\x02\x00\x01n"))[:28], 9, 9, 9, 9)},
		{"2 tags with script data that cannot be read", fileOf(flv.Header{}, packet(flv.TagScript, 0, "x"), packet(flv.TagScript, 0, ""))},
		{"the file's header does not announce the video that follows", fileOf(flv.Header{}, packet(flv.TagVideo, 0, "\x12p"))},
		{"the file's header announces audio, and there is none", fileOf(flv.Header{Audio: true})},
		{"video: no key frame", fileOf(flv.Header{Video: true}, packet(flv.TagVideo, 0, "\x22p"))},
		{"video: no sequence header", fileOf(flv.Header{Video: true}, packet(flv.TagVideo, 0, "\x17\x01\x00\x00\x00p"))},
		{"audio: no sequence header", fileOf(flv.Header{Audio: true}, packet(flv.TagAudio, 0, "\xaf\x01p"))},
		{"video: 1 malformed packet", fileOf(flv.Header{Video: true}, packet(flv.TagVideo, 0, "\x17\x01"))},
		{"audio: 1 malformed packet", fileOf(flv.Header{Audio: true}, packet(flv.TagAudio, 0, "\xaf"))},
		{"video: a sequence header: AVC configuration: cut off", fileOf(flv.Header{Video: true}, packet(flv.TagVideo, 0, config))},
		{"audio: 1 packet of another codec", fileOf(flv.Header{Audio: true}, packet(flv.TagAudio, 0, "\x2f"), packet(flv.TagAudio, 20, "\xb6"))},
		{"audio: 1 gap in time", fileOf(flv.Header{Audio: true}, packet(flv.TagAudio, 0, "\x2f"), packet(flv.TagAudio, 2000, "\x2f"))},
		{"audio: 1 step of time back", fileOf(flv.Header{Audio: true}, packet(flv.TagAudio, 9, "\x2f"), packet(flv.TagAudio, 0, "\x2f"))},
	} {
		r, err := flv.Probe(bytes.NewReader(c.file), flv.ProbeOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.says, err)
			continue
		}
		text := strings.Join(r.Problems(), "\n")
		if !strings.Contains(text, c.says) || !strings.Contains(r.String(), "problem: ") {
			t.Errorf("%q is not among the problems:\n%s", c.says, text)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", c.says, err)
		}
	}
}

func TestMetadataInJSONAndText(t *testing.T) {
	values := amf0.ECMAArray{
		{Name: "n", Value: 1.5}, {Name: "nan", Value: math.NaN()}, {Name: "s", Value: "a \x1b[31m"}, {Name: "b", Value: true},
		{Name: "null"}, {Name: "undefined", Value: amf0.Undefined{}}, {Name: "o", Value: amf0.Object{{Name: "x", Value: "y"}, {Name: "z", Value: 1.0}}},
		{Name: "a", Value: amf0.StrictArray{1.0, "two"}}, {Name: "d", Value: amf0.Date{Milliseconds: 5}}, {Name: "xml", Value: amf0.XML("<a/>")},
		{Name: "c", Value: amf0.TypedObject{Class: "C"}}, {Name: "e", Value: amf0.ECMAArray{}},
	}
	script, err := flv.AppendScript(nil, "onMetaData", values)
	if err != nil {
		t.Fatal(err)
	}
	framed, err := flv.AppendScript(nil, "@setDataFrame", "onMetaData", values)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]byte{script, framed} {
		r := probe(t, fileOf(flv.Header{}, packet(flv.TagScript, 0, string(p))))
		got, err := json.Marshal(r.Script.Metadata)
		want := `{"n":1.5,"nan":null,"s":"a \u001b[31m","b":true,"null":null,"undefined":null,"o":{"x":"y","z":1},"a":[1,"two"],"d":5,"xml":"\u003ca/\u003e","c":{},"e":{}}`
		if err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
		text := r.String()
		for _, want := range []string{"n 1.5\n", `s "a \x1b[31m"`, "o {2 values}", "a [2 values]", "undefined undefined\n", "null null", "b true"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
	}
	if p, err := json.Marshal(flv.Metadata(nil)); err != nil || string(p) != "null" {
		t.Errorf("%s, %v", p, err)
	}
}

func TestProbeReportsUpToWhereItFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	r, err := flv.Probe(io.MultiReader(bytes.NewReader(flvclip.File[:200_000]), iotest.ErrReader(broken)), flv.ProbeOptions{})
	if !errors.Is(err, broken) || r.Video == nil || r.Video.Packets != 56 || r.Truncated != nil {
		t.Errorf("%v, %+v", err, r)
	}
	file := bytes.Clone(flvclip.File)
	file[198887] = 0xff // where a tag begins
	r, err = flv.Probe(bytes.NewReader(file), flv.ProbeOptions{})
	if !errors.Is(err, flv.ErrSyntax) || r.Video == nil || r.Video.Packets != 56 {
		t.Errorf("%v, %+v", err, r)
	}
	if _, err := flv.Probe(bytes.NewReader(flvclip.File), flv.ProbeOptions{MaxTag: 1000}); !errors.Is(err, flv.ErrTooLong) {
		t.Error(err)
	}
}

func TestProbeOfNothingPanics(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); text != "flv: Probe(nil)" {
			t.Errorf("panicked with %q", text)
		}
	}()
	_, _ = flv.Probe(nil, flv.ProbeOptions{})
}
