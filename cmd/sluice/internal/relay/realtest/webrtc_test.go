//go:build linux

package realtest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The page plays a stream by WHEP: frames are decoded, the time moves, sound is heard
// when it is Opus, and with AAC it is the picture alone.
func TestWHEPInChromium(t *testing.T) {
	t.Parallel()
	plain := plainClip(t)
	for _, c := range []struct {
		name  string
		audio []string
		sound bool
	}{
		{"AAC", []string{"-c:a", "copy"}, false},
		{"Opus", []string{"-c:a", "libopus", "-b:a", "64k"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.sound {
				long(t, "TestWHEPOfFLV has it without a browser")
			}
			s := serve(t, options{})
			args := append([]string{"-re", "-stream_loop", "-1", "-i", plain, "-c:v", "copy"}, c.audio...)
			ffmpeg(t, append(args, "-f", "rtsp", "-rtsp_transport", "tcp", "rtsp://"+s.RTSP+"/live/s")...)
			s.awaitLive(t, "live/s")
			ctx, _, faults := browse(t)
			if err := chromedp.Do(ctx, chromedp.Navigate("http://"+s.HTTP+"/?stream=live/s"), chromedp.WaitVisible(chromedp.CSS("#video"))); err != nil {
				t.Fatal(err)
			}
			evaluate[bool](t, ctx, `(() => {
				const e = document.getElementById("transport");
				e.value = "whep";
				return e.dispatchEvent(new Event("change", {bubbles: true}));
			})()`)
			type state struct {
				Width  int     `json:"width"`
				Time   float64 `json:"time"`
				Frames int     `json:"frames"`
				Tracks string  `json:"tracks"`
				Shown  bool    `json:"shown"` // the page knows that pictures come
			}
			var now state
			look := func() state {
				return evaluate[state](t, ctx, `(() => {
					const video = document.getElementById("video");
					return {
						shown: document.getElementById("cover").hidden,
						width: video.videoWidth, time: video.currentTime, frames: video.getVideoPlaybackQuality().totalVideoFrames,
						tracks: (video.srcObject?.getTracks() ?? []).filter((t) => !t.muted).map((t) => t.kind).sort().join(" "),
					};
				})()`)
			}
			eventually(t, lengthened(20*time.Second), func() string {
				if now = look(); now.Width != 640 || now.Frames < 30 || now.Time < 1 || !now.Shown {
					return fmt.Sprintf("no picture that moves: %+v; %s", now, said(t, ctx))
				}
				return ""
			})
			want := "video"
			if c.sound {
				want = "audio video"
			}
			eventually(t, lengthened(20*time.Second), func() string {
				if now = look(); now.Tracks != want {
					return fmt.Sprintf("tracks %q, want %q", now.Tracks, want)
				}
				return ""
			})
			if f := faults(); len(f) > 0 {
				t.Errorf("the page fails with %q", f)
			}
			evaluate[bool](t, ctx, `(document.getElementById("stop").click(), true)`)
			eventually(t, lengthened(20*time.Second), func() string {
				for _, x := range s.clients(t) {
					if x.Protocol == "whep" {
						return "the viewer is still there"
					}
				}
				return ""
			})
		})
	}
}

// plainClip is a clip without B-frames, which browsers do not show in order.
func plainClip(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plain.mp4")
	p := ffmpeg(t, "-i", clipFile(t), "-t", "4", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "30", "-c:a", "aac", file)
	if code := p.wait(t, lengthened(60*time.Second)); code != 0 {
		t.Fatal(p.stderr.tail(10))
	}
	return file
}

// browseWithCamera shows the page of s in a browser that has a camera, a pretended one.
func browseWithCamera(t *testing.T, s *server) (ctx context.Context, faults func() []string) {
	t.Helper()
	ctx, _, faults = browse(t, chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true))
	if err := chromedp.Do(ctx, chromedp.Navigate("http://"+s.HTTP+"/"), chromedp.WaitVisible(chromedp.CSS("body"))); err != nil {
		t.Fatal(err)
	}
	return ctx, faults
}

// Of the layers that a browser offers the largest is sent, wherever it stands among them.
func TestWHIPSimulcastFromChromium(t *testing.T) {
	long(t, "package webrtc tests the answer")
	t.Parallel()
	s := serve(t, options{})
	ctx, faults := browseWithCamera(t, s)
	evaluate[bool](t, ctx, `(() => {
		window.state = {said: "", pcs: []};
		const publish = async (name, encodings) => {
			const media = await navigator.mediaDevices.getUserMedia({video: {width: 640, height: 360}, audio: true});
			const pc = new RTCPeerConnection();
			state.pcs.push(pc);
			pc.addTransceiver(media.getVideoTracks()[0], {direction: "sendonly", streams: [media], sendEncodings: encodings});
			pc.addTransceiver(media.getAudioTracks()[0], {direction: "sendonly", streams: [media]});
			await pc.setLocalDescription(await pc.createOffer());
			const response = await fetch("/live/" + name + "/whip", {method: "POST", headers: {"Content-Type": "application/sdp"}, body: pc.localDescription.sdp});
			const sdp = await response.text();
			if (!response.ok) throw new Error(sdp);
			await pc.setRemoteDescription({type: "answer", sdp});
			state.said += name + " sends " + pc.getSenders()[0].getParameters().encodings.filter((e) => e.active).map((e) => e.rid) + "; ";
		};
		const scaled = [{rid: "q", scaleResolutionDownBy: 4}, {rid: "h", scaleResolutionDownBy: 2}, {rid: "f"}];
		Promise.all([publish("up", scaled), publish("down", [...scaled].reverse()), publish("own", [{rid: "a"}, {rid: "b"}])])
			.catch((err) => { state.said += err; });
		return true;
	})()`)
	for name, layer := range map[string]string{"up": "f", "down": "f", "own": "b"} {
		eventually(t, lengthened(30*time.Second), func() string {
			said := evaluate[string](t, ctx, `state.said`)
			if !strings.Contains(said, name+" sends "+layer+"; ") {
				return fmt.Sprintf("%s does not send %s alone: %s", name, layer, said)
			}
			for _, x := range s.streams(t) {
				if x.Name == "live/"+name && x.Video.Codec != "" && x.FramesIn > 50 {
					return ""
				}
			}
			return fmt.Sprintf("no pictures of %s in %+v", name, s.streams(t))
		})
	}
	if f := faults(); len(f) > 0 {
		t.Errorf("the page fails with %q", f)
	}
}

// A browser publishes its camera by WHIP, and ffmpeg plays it by RTSP: the browser makes
// key frames when it is asked.
func TestWHIPFromChromium(t *testing.T) {
	long(t, "TestWHIPToAll has it without a browser")
	t.Parallel()
	s := serve(t, options{})
	ctx, faults := browseWithCamera(t, s)
	evaluate[bool](t, ctx, `(() => {
		window.state = {said: ""};
		(async () => {
			const media = await navigator.mediaDevices.getUserMedia({video: {width: 640, height: 360}, audio: true});
			const pc = state.pc = new RTCPeerConnection();
			for (const track of media.getTracks()) pc.addTransceiver(track, {direction: "sendonly", streams: [media]});
			const offer = await pc.createOffer();
			await pc.setLocalDescription(offer);
			const response = await fetch("/live/camera/whip", {method: "POST", headers: {"Content-Type": "application/sdp"}, body: offer.sdp});
			const sdp = await response.text();
			if (!response.ok) throw new Error(sdp);
			state.location = response.headers.get("Location");
			state.codecs = sdp.match(/a=rtpmap:\d+ \w+/g).join(" ");
			await pc.setRemoteDescription({type: "answer", sdp});
		})().catch((err) => { state.said += err; });
		return true;
	})()`)
	eventually(t, lengthened(20*time.Second), func() string {
		for _, x := range s.streams(t) {
			if x.Name == "live/camera" && x.Publisher != nil && x.Video.Codec != "" {
				return ""
			}
		}
		return "no stream; " + evaluate[string](t, ctx, `state.said + " " + state.codecs + " " + state.pc?.connectionState`)
	})
	p := ffmpeg(t, "-rtsp_transport", "tcp", "-i", "rtsp://"+s.RTSP+"/live/camera", "-map", "0:v", "-frames:v", "60", "-f", "null", "-")
	if code := p.wait(t, lengthened(40*time.Second)); code != 0 {
		t.Errorf("ffmpeg ends with %d: %s", code, p.stderr.tail(10))
	}
	t.Log(evaluate[string](t, ctx, `state.codecs`))
	evaluate[bool](t, ctx, `(fetch(state.location, {method: "DELETE"}), true)`)
	eventually(t, lengthened(20*time.Second), func() string {
		for _, x := range s.clients(t) {
			if x.Protocol == "whip" {
				return "the publisher is still there"
			}
		}
		return ""
	})
	if f := faults(); len(f) > 0 {
		t.Errorf("the page fails with %q", f)
	}
}
