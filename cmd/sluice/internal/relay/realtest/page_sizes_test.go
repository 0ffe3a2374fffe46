//go:build linux

package realtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// sized has ffmpeg make a clip of a codec whose picture has a size.
func sized(t *testing.T, size string, flags ...string) (tags []tag) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clip.flv")
	args := []string{"-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=" + size + ":rate=25", "-f", "lavfi", "-i", "sine=sample_rate=48000", "-t", "2", "-pix_fmt", "yuv420p"}
	if p := ffmpeg(t, append(append(args, flags...), file)...); p.wait(t, lengthened(60*time.Second)) != 0 {
		t.Fatal(p.stderr.tail(5))
	}
	flv, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for src := newFLV(bytes.NewReader(flv)); ; {
		g, err := src.next()
		if err != nil {
			return tags
		}
		if g.Type != tagScript {
			tags = append(tags, g)
		}
	}
}

// When the size of the picture changes the next pictures are shown: mpegts.js leaves a gap there, at which the browser
// would stand still after it has played sound alone for three seconds.
func TestPageWhenThePictureChanges(t *testing.T) {
	t.Parallel()
	s := serve(t, options{env: []string{"SLUICE_API_TOKEN="}})
	flags := []string{"-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac"}
	small, large := sized(t, "320x180", flags...), sized(t, "640x360", flags...)
	to := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/s.flv")
	var changed atomic.Bool
	var late atomic.Int64 // the most by which a tag was, in ns
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		began := time.Now()
		for at, was := uint32(0), false; ; at += 2040 {
			tags, now := small, changed.Load()
			if now {
				tags = large
			}
			if now != was {
				at += 400 // an encoder takes a moment
				was = now
			}
			for _, g := range tags {
				g.Time += at
				if !sendInTime(to, g, began, stop) {
					return
				}
				late.Store(max(late.Load(), int64(time.Since(began)-time.Duration(g.Time)*time.Millisecond)))
			}
		}
	}()
	s.awaitLive(t, "live/s")
	ctx, _, _ := browse(t)
	openPage(t, ctx, s, "flv")
	pageMoves(t, ctx)
	evaluate[bool](t, ctx, `(() => {
		const video = document.getElementById("video");
		window.longest = 0;
		window.pictures = {};
		window.stood = 0; // for how long the tab itself did
		let latest = 0, ran = performance.now();
		setInterval(() => { stood = Math.max(stood, performance.now() - ran); ran = performance.now(); }, 50);
		const shown = (_, { mediaTime, width }) => {
			if (latest) longest = Math.max(longest, mediaTime - latest);
			latest = mediaTime;
			pictures[width] = (pictures[width] ?? 0) + 1;
			video.requestVideoFrameCallback(shown);
		};
		video.requestVideoFrameCallback(shown);
		return true;
	})()`)
	// A machine that is busy may leave pictures out, but not each time. Behind a standstill of the tab or of the publisher
	// the page goes on at what is newest, and leaves out what came meanwhile: that says nothing of it.
	gap, judged := 0.0, false
	for n := range 9 {
		width := []int{640, 320}[n%2]
		changed.Store(width == 640)
		late.Store(0)
		evaluate[float64](t, ctx, "pictures = {}, stood = 0, longest = 0")
		eventually(t, lengthened(30*time.Second), func() string {
			if n := evaluate[int](t, ctx, fmt.Sprintf("pictures[%d] ?? 0", width)); n < 10 {
				return fmt.Sprintf("%d pictures of the other size were shown: %s", n, said(t, ctx))
			}
			return ""
		})
		stood := max(time.Duration(evaluate[float64](t, ctx, "stood")*1e6), time.Duration(late.Load()))
		if width != 640 || stood > time.Second {
			continue
		}
		if judged, gap = true, evaluate[float64](t, ctx, "longest"); gap < 1.2 {
			return
		}
	}
	if !judged {
		t.Skip("the browser or the publisher stood still for a second whenever the picture changed: the machine has no time for them")
	}
	t.Errorf("no picture was shown for %.1f s of the stream", gap)
}

// withOpus puts sound beside pictures.
func withOpus(pictures []tag) (tags []tag) {
	sound := silentOpus()
	tags = append(tags, tag{tagAudio, 0, append([]byte("\x90Opus"), sound.config...)})
	n := 0
	for _, g := range pictures {
		for at := uint32(float64(n) * sound.every); n < len(sound.frames) && at <= g.Time; at = uint32(float64(n) * sound.every) {
			tags = append(tags, tag{tagAudio, at, append([]byte("\x91Opus"), sound.frames[n]...)})
			n++
		}
		tags = append(tags, g)
	}
	return tags
}

// Pixels need not be square: those of television of standard definition are not. What the page makes of FLV itself, and
// what the server makes of HLS, says so to the browser, which does not look into the pictures for it.
func TestPageShowsPixelsThatAreNotSquare(t *testing.T) {
	t.Parallel()
	s := serve(t, options{env: []string{"SLUICE_API_TOKEN="}})
	stop := make(chan struct{})
	defer close(stop)
	flags := []string{"-vf", "setsar=64/45", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25"}
	for sound, tags := range map[string][]tag{
		"aac": sized(t, "180x144", append(flags, "-c:a", "aac")...), "opus": withOpus(sized(t, "180x144", append(flags, "-an")...)),
	} {
		to := publishHTTP(t, "POST", "http://"+s.HTTP+"/live/"+sound+".flv")
		go func() {
			began := time.Now()
			for at := uint32(0); ; at += 2040 {
				for _, g := range tags {
					g.Time += at
					if !sendInTime(to, g, began, stop) {
						return
					}
				}
			}
		}()
		s.awaitLive(t, "live/"+sound)
	}
	ctx, _, _ := browse(t)
	for _, way := range [][2]string{{"aac", "flv"}, {"aac", "hls"}, {"opus", "flv"}} {
		openPageOf(t, ctx, s, "live/"+way[0], way[1])
		choose(t, ctx, way[1])
		pageMoves(t, ctx)
		const shape = `[document.getElementById("video").videoWidth, document.getElementById("video").videoHeight]`
		if got := evaluate[[]int](t, ctx, shape); len(got) != 2 || got[0] != 256 || got[1] != 144 {
			t.Errorf("%s by %s: the picture is %v, want 256 × 144", way[0], way[1], got)
		}
	}
}
