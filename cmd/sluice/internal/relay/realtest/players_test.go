//go:build linux

package realtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// GStreamer plays a stream: pictures are decoded from each protocol.
func TestPlayersGStreamer(t *testing.T) {
	long(t, "TestProtocols plays the same with small clients")
	gst := tool(t, "gst-launch-1.0")
	s := serve(t, options{})
	push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...)
	s.awaitLive(t, "live/s")
	const decode = " ! h264parse ! avdec_h264 ! fakesink name=pictures silent=false"
	for way, line := range map[string]string{
		"RTSP over TCP": "rtspsrc protocols=tcp location=rtsp://" + s.RTSP + "/live/s ! application/x-rtp,media=video ! rtph264depay" + decode,
		"RTSP over UDP": "rtspsrc protocols=udp location=rtsp://" + s.RTSP + "/live/s ! application/x-rtp,media=video ! rtph264depay" + decode,
		"RTMP":          "rtmp2src location=rtmp://" + s.RTMP + "/live/s ! flvdemux name=d d.video ! queue" + decode,
		"HTTP-FLV":      "souphttpsrc location=http://" + s.HTTP + "/live/s.flv ! flvdemux name=d d.video ! queue" + decode,
		"SRT":           "srtsrc uri=srt://" + s.SRT + " streamid=#!::r=live/s,m=request ! tsdemux ! queue" + decode,
		// hlsdemux2 of GStreamer 1.22, which playbin3 takes, stops at the end of the first
		// playlist, when that has but a segment.
		"HLS": "souphttpsrc location=http://" + s.HTTP + "/live/s.m3u8 ! hlsdemux ! decodebin name=d d. ! video/x-raw ! fakesink name=pictures silent=false",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := start(t, nil, gst, append([]string{"-v"}, strings.Fields(line)...)...)
			eventually(t, lengthened(30*time.Second), func() string {
				if n := strings.Count(p.stdout.String(), "pictures: last-message = chain"); n < 50 {
					return fmt.Sprintf("%d pictures; %s", n, p.stderr.tail(5))
				}
				return ""
			})
		})
	}
}

// GStreamer publishes H.264 and AAC, and ffmpeg decodes it.
func TestPlayersGStreamerPublishes(t *testing.T) {
	long(t, "TestProtocols publishes the same with small clients")
	gst := tool(t, "gst-launch-1.0")
	s := serve(t, options{})
	for name, sink := range map[string]string{
		"rtmp": "flvmux name=m streamable=true ! rtmp2sink location=rtmp://" + s.RTMP + "/live/rtmp",
		"srt":  "mpegtsmux name=m alignment=7 ! srtsink uri=srt://" + s.SRT + " streamid=publish:live/srt",
		"tcp":  "rtspclientsink name=m protocols=tcp location=rtsp://" + s.RTSP + "/live/tcp",
		"udp":  "rtspclientsink name=m protocols=udp location=rtsp://" + s.RTSP + "/live/udp",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := "videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate=25/1 ! x264enc tune=zerolatency key-int-max=25 ! h264parse ! " + sink +
				" audiotestsrc is-live=true ! audioconvert ! voaacenc ! aacparse ! m."
			start(t, nil, gst, strings.Fields(line)...)
			s.awaitLive(t, "live/"+name)
			p := ffmpeg(t, "-loglevel", "error", "-i", "http://"+s.HTTP+"/live/"+name+".flv", "-map", "0:v", "-map", "0:a", "-frames:v", "50", "-frames:a", "50", "-f", "null", "-")
			if code := p.wait(t, lengthened(30*time.Second)); code != 0 {
				t.Errorf("ffmpeg ends with %d: %s", code, p.stderr.tail(5))
			}
		})
	}
}

// VLC plays a stream. Debian's has no RTSP.
func TestPlayersVLC(t *testing.T) {
	long(t, "TestProtocols plays the same with small clients")
	vlc := []string{tool(t, "cvlc")}
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		// It refuses to run as root.
		vlc = []string{tool(t, "runuser"), "-u", "nobody", "--", vlc[0]}
		for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := serve(t, options{})
	push(t, clipFile(t), "rtmp://"+s.RTMP+"/live/s", loop...)
	s.awaitLive(t, "live/s")
	for way, url := range map[string]string{
		"RTMP": "rtmp://" + s.RTMP + "/live/s", "HTTP-FLV": "http://" + s.HTTP + "/live/s.flv", "HLS": "http://" + s.HTTP + "/live/s.m3u8", "SRT": "srt://" + s.SRT + "?streamid=live/s",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(dir, way+".ts")
			p := start(t, []string{"HOME=" + dir}, vlc[0], append(vlc[1:], "--no-dbus", "--intf", "dummy", "--sout", "#std{access=file,mux=ts,dst="+file+"}", url)...)
			eventually(t, lengthened(30*time.Second), func() string {
				if info, err := os.Stat(file); err != nil || info.Size() < 100<<10 {
					return "too little of it: " + p.stderr.tail(5)
				}
				return ""
			})
			if err := p.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			text, err := runTool("ffprobe", "-v", "quiet", "-show_entries", "stream=codec_name", "-of", "csv=p=0", file)
			if err != nil || !strings.Contains(string(text), "h264") || !strings.Contains(string(text), "aac") {
				t.Errorf("%v, it has %q", err, text)
			}
		})
	}
}
