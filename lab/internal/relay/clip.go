package relay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
)

// A Tag is one packet of a clip. Its payload is that of an FLV tag and of an
// RTMP message alike.
type Tag struct {
	Kind    flv.TagType
	Time    uint32 // ms
	Payload []byte
}

// A Clip is what a publisher sends: first what sets up the decoders, then
// media, over and over, with times that go on.
type Clip struct {
	Head   []Tag  // metadata and sequence headers
	Media  []Tag  // in the order of the file, times from 0
	Length uint32 // ms from the first frame to its repetition
	counts [2]int // frames by track
	Check  uint64 // a sum over all payloads
}

const (
	video = iota
	audio
)

// ErrClip is the error of a clip that cannot be published.
var ErrClip = errors.New("relay: no clip to publish")

// ParseClip reads an FLV file, borrowed.
func ParseClip(file []byte) (*Clip, error) {
	r := sluice.NewBufReaderBytes(file)
	defer r.Recycle()
	d := flv.NewDecoder(r)
	c := &Clip{}
	_, err := d.ReadHeader()
	for err == nil {
		var t flv.Tag
		if t, err = d.Next(); err == nil {
			c.add(Tag{t.Type, t.Time, append([]byte(nil), t.Payload.Bytes()...)})
			t.Release()
		}
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // a tail that is cut off
		return nil, fmt.Errorf("%w: %w", ErrClip, err)
	}
	return c, c.finish()
}

func (c *Clip) add(t Tag) {
	switch packet, _ := kindOf(t.Kind, t.Payload); {
	case packet == setsUp, t.Kind == flv.TagScript && len(c.Media) == 0:
		t.Time = 0
		c.Head = append(c.Head, t)
	case packet == media:
		c.Media = append(c.Media, t)
	}
}

const (
	other  = iota
	setsUp // a decoder
	media
)

func kindOf(kind flv.TagType, p []byte) (packet int, key bool) {
	switch kind {
	case flv.TagVideo:
		if h, err := flv.ParseVideo(p); err == nil && h.Config() {
			return setsUp, false
		} else if err == nil && h.Packet == flv.PacketCodedFrames {
			return media, h.Key()
		}
	case flv.TagAudio:
		if h, err := flv.ParseAudio(p); err == nil && h.Config() {
			return setsUp, false
		} else if err == nil && h.Packet == flv.AudioCodedFrames {
			return media, false
		}
	}
	return other, false
}

// finish makes times begin at 0, and refuses a clip in which two frames have the
// same kind and time.
func (c *Clip) finish() error {
	first := uint32(math.MaxUint32)
	for _, t := range c.Media {
		first = min(first, t.Time)
	}
	last := [2]int64{-1, -1}
	for i := range c.Media {
		t := &c.Media[i]
		which := trackOf(t.Kind)
		t.Time -= first
		if last[which] >= int64(t.Time) {
			return fmt.Errorf("%w: two packets of kind %d at %d ms or one out of order", ErrClip, t.Kind, t.Time)
		}
		last[which] = int64(t.Time)
		c.counts[which]++
		for _, b := range t.Payload {
			c.Check = c.Check*31 + uint64(b)
		}
	}
	for which, n := range c.counts {
		if which == video && n < 2 || n == 1 {
			return fmt.Errorf("%w: %d video and %d audio packets", ErrClip, c.counts[video], c.counts[audio])
		}
		if n == 0 {
			continue // a clip without sound
		}
		c.Length = max(c.Length, uint32(last[which])+max(1, uint32(last[which])/uint32(n-1)))
	}
	return nil
}

func (c *Clip) every() time.Duration {
	return time.Duration(c.Length) * time.Millisecond / time.Duration(len(c.Media))
}

func (c *Clip) at(n int) (t Tag, time uint32) {
	t = c.Media[n%len(c.Media)]
	return t, uint32(n/len(c.Media))*c.Length + t.Time
}

func trackOf(kind flv.TagType) int {
	if kind == flv.TagVideo {
		return video
	}
	return audio
}

// FFmpeg returns the path of the program that makes the clip, or an error that
// wraps errors.ErrUnsupported.
func FFmpeg() (string, error) {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return "", fmt.Errorf("relay: no ffmpeg here: %w", errors.ErrUnsupported)
	}
	return path, nil
}

// clipArgs are ten seconds of 1280x720 at 30 frames a second with a key frame
// every two seconds. Without noise a test picture does not need its 2 Mbit/s, and
// without it in the sound AAC would send next to nothing.
var clipArgs = strings.Fields(`-nostdin -loglevel error -y
	-f lavfi -i testsrc2=size=1280x720:rate=30,noise=alls=12:allf=t
	-f lavfi -i anoisesrc=r=44100:a=0.1:seed=1 -t 10
	-c:v libx264 -preset veryfast -tune zerolatency -pix_fmt yuv420p
	-b:v 2000k -minrate 2000k -maxrate 2000k -bufsize 1000k -g 60 -keyint_min 60 -sc_threshold 0
	-c:a aac -ac 2 -b:a 128k -f flv`)

// MakeClip has ffmpeg make the clip in dir, which takes some seconds, and
// returns the FLV file.
func MakeClip(ctx context.Context, dir string) ([]byte, error) {
	ffmpeg, err := FFmpeg()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "made.flv")
	said, err := exec.CommandContext(ctx, ffmpeg, append(clipArgs, path)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("relay: ffmpeg makes no clip: %w: %.300s", err, said)
	}
	defer os.Remove(path)
	return os.ReadFile(path)
}

// SmallFrames makes the clip of a camera that sends little: frames of so many bytes, so
// many a second, for two seconds, the first of them a key frame. There is no sound.
func SmallFrames(size, perSecond int) []byte {
	file := append(flv.Header{Video: true}.Append(nil), 0, 0, 0, 0)
	file = appendTag(file, flv.TagVideo, 0, []byte{0x17, 0, 0, 0, 0, 1, 0x64, 0, 0x1f, 0xff, 0xe0, 0})
	for i := range 2 * perSecond {
		frame := make([]byte, size)
		frame[0], frame[1] = 0x27, 1
		if i == 0 {
			frame[0] = 0x17
		}
		file = appendTag(file, flv.TagVideo, uint32(1000*i/perSecond), frame)
	}
	return file
}

func appendTag(dst []byte, kind flv.TagType, time uint32, payload []byte) []byte {
	dst = flv.TagHeader{Type: kind, Size: len(payload), Time: time}.Append(dst)
	dst = append(dst, payload...)
	return binary.BigEndian.AppendUint32(dst, uint32(flv.TagHeaderLen+len(payload)))
}
