//go:build linux

package realtest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sluice-go/sluice/internal/flvclip"
)

// coded are the frames of one track with their configuration.
type coded struct {
	fourcc string
	config []byte
	frames [][]byte
	every  float64 // ms
}

// encodedVideo has ffmpeg encode a test picture.
func encodedVideo(t *testing.T, encoder, fourcc string, config []byte, flags ...string) coded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "v.ivf")
	args := append([]string{"-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=320x180:rate=25", "-t", "2", "-pix_fmt", "yuv420p", "-c:v", encoder, "-g", "25"}, flags...)
	if p := ffmpeg(t, append(args, file)...); p.wait(t, lengthened(60*time.Second)) != 0 {
		t.Fatal(p.stderr.tail(5))
	}
	ivf, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := coded{fourcc: fourcc, config: config, every: 40}
	for at := 32; at+12 <= len(ivf); {
		n := int(binary.LittleEndian.Uint32(ivf[at:]))
		c.frames = append(c.frames, ivf[at+12:at+12+n])
		at += 12 + n
	}
	return c
}

// encodedFLAC has ffmpeg encode a tone.
func encodedFLAC(t *testing.T) coded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.flac")
	if p := ffmpeg(t, "-loglevel", "error", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-ac", "2", "-t", "2", "-c:a", "flac", "-frame_size", "4800", file); p.wait(t, lengthened(20*time.Second)) != 0 {
		t.Fatal(p.stderr.tail(5))
	}
	flac, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, tool(t, "ffprobe"), "-loglevel", "error", "-show_entries", "packet=pos,size", "-of", "csv=p=0", file)
	if p.wait(t, lengthened(20*time.Second)) != 0 {
		t.Fatal(p.stderr.tail(5))
	}
	c := coded{fourcc: "fLaC", config: flac[:42], every: 100}
	for line := range strings.Lines(p.stdout.String()) {
		var size, pos int
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "%d,%d", &size, &pos); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		c.frames = append(c.frames, flac[pos:pos+size])
	}
	return c
}

// silentOpus is Opus without a sound: the packet is the one for 20 ms of silence.
func silentOpus() coded {
	c := coded{fourcc: "Opus", config: []byte("OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00"), every: 20}
	for range 100 {
		c.frames = append(c.frames, []byte{0xfc, 0xff, 0xfe})
	}
	return c
}

// together are the tags of two tracks, by time. Before key frames of the video
// stand colours, as metadata of its own packet type.
func together(video, audio coded) []tag {
	tags := []tag{
		{tagVideo, 0, append([]byte("\x90"+video.fourcc), video.config...)},
		{tagAudio, 0, append([]byte("\x90"+audio.fourcc), audio.config...)},
	}
	a := 0
	for i, f := range video.frames {
		at := uint32(float64(i) * video.every)
		for ; a < len(audio.frames) && uint32(float64(a)*audio.every) <= at; a++ {
			tags = append(tags, tag{tagAudio, uint32(float64(a) * audio.every), append([]byte("\x91"+audio.fourcc), audio.frames[a]...)})
		}
		frame := byte(0xa3)
		if i%25 == 0 {
			frame = 0x93
			tags = append(tags, tag{tagVideo, at, []byte("\x94" + video.fourcc + "\x02\x00\x09colorInfo\x03\x00\x00\x09")})
		}
		tags = append(tags, tag{tagVideo, at, append([]byte{frame, video.fourcc[0], video.fourcc[1], video.fourcc[2], video.fourcc[3]}, f...)})
	}
	return tags
}

// inTracks are the clip's tags with the video as one of several tracks, beside
// another one.
func inTracks(t *testing.T) []tag {
	t.Helper()
	var tags []tag
	for src := newFLV(strings.NewReader(string(flvclip.File))); ; {
		g, err := src.next()
		if err != nil {
			return tags
		}
		if g.Type == tagVideo && len(g.Data) > 5 {
			packet, data := byte(0), g.Data[5:]
			if g.Data[1] == 1 {
				packet, data = 1, g.Data[2:] // with its composition time
			}
			if g.Data[1] > 1 {
				continue
			}
			head := []byte{0x80 | g.Data[0]&0x70 | 6, 1<<4 | packet, 'a', 'v', 'c', '1'}
			for _, track := range []byte{0, 1} {
				head = append(append(head, track, byte(len(data)>>16), byte(len(data)>>8), byte(len(data))), data...)
			}
			g.Data = head
		}
		if g.Type != tagScript {
			tags = append(tags, g)
		}
	}
}

// sendInTime sends a tag when its time since a stream began has come. It reports false when that is to
// stop, or has ended.
func sendInTime(to *post, g tag, began time.Time, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	case <-time.After(time.Until(began.Add(time.Duration(g.Time) * time.Millisecond))):
	}
	return to.send(g) == nil
}

// What the browser can play plays, whatever the codecs; what it cannot is said in
// one sentence.
func TestPagePlaysWhatTheBrowserCan(t *testing.T) {
	t.Parallel()
	s := serve(t, options{env: []string{"SLUICE_API_TOKEN="}})
	vp9 := encodedVideo(t, "libvpx-vp9", "vp09", []byte{0, 10, 0x82, 1, 1, 1, 0, 0}, "-deadline", "realtime", "-cpu-used", "8")
	av1 := encodedVideo(t, "libaom-av1", "av01", []byte{0x81, 0x00, 0x0c, 0x00}, "-usage", "realtime", "-cpu-used", "8")
	strange := coded{fourcc: "vvc1", config: make([]byte, 20), frames: vp9.frames, every: vp9.every}
	for _, c := range []struct {
		name  string
		tags  []tag
		width int    // of the picture
		says  string // when it does not play
	}{
		{"vp9-opus", together(vp9, silentOpus()), 320, ""},
		{"av1-flac", together(av1, encodedFLAC(t)), 320, ""},
		{"tracks", inTracks(t), 640, ""},
		{"vvc", together(strange, silentOpus()), 0, "This browser cannot play what the stream has"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/"+c.name+".flv")
			stop := make(chan struct{})
			go func() {
				began := time.Now()
				length := c.tags[len(c.tags)-1].Time + 40
				for round := uint32(0); ; round++ {
					for _, g := range c.tags {
						g.Time += round * length
						if !sendInTime(to, g, began, stop) {
							return
						}
					}
				}
			}()
			defer close(stop)
			s.awaitLive(t, "live/"+c.name)
			ctx, _, faults := browse(t)
			if err := chromedp.Do(ctx, chromedp.Navigate("http://"+s.HTTP+"/?stream=live/"+c.name), chromedp.WaitVisible(chromedp.CSS("#video"))); err != nil {
				t.Fatalf("opening the page: %v", err)
			}
			eventually(t, lengthened(40*time.Second), func() string {
				text := said(t, ctx)
				if c.says != "" {
					if !strings.Contains(text, c.says) {
						return "it says " + text
					}
					return ""
				}
				if width := evaluate[int](t, ctx, `document.getElementById("video").videoWidth`); width != c.width {
					return fmt.Sprintf("the picture is %d wide: %s", width, text)
				}
				if evaluate[float64](t, ctx, `document.getElementById("video").currentTime`) < 1 {
					return "the time does not move: " + text
				}
				return ""
			})
			// A button is called what it says (WCAG 2.1, success criterion 2.5.3).
			if label := evaluate[string](t, ctx, `(() => {
				const b = document.getElementById("watch");
				const label = b.getAttribute("aria-label") ?? b.textContent;
				return label.includes(b.textContent) ? "" : label + " for " + b.textContent;
			})()`); label != "" {
				t.Errorf("the button is called %s", label)
			}
			if f := faults(); len(f) > 0 {
				t.Errorf("the page fails with %q", f)
			}
		})
	}
}
