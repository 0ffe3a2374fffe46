package rtmp

import (
	"bytes"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/internal/loopback"
)

// ffmpegDial connects to a server that is about to listen.
func ffmpegDial(t *testing.T, address string, gone <-chan error) net.Conn {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn
		}
		select {
		case err := <-gone:
			t.Fatal("the server has ended: ", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ffmpegConnect is a client that is connected to a server of ffmpeg's.
func ffmpegConnect(t *testing.T, address string, gone <-chan error, o Options) *linkSide {
	t.Helper()
	c := linkNew(t, ffmpegDial(t, address, gone), o)
	t.Cleanup(c.end)
	if err := c.ClientHandshake(); err != nil {
		t.Fatal(err)
	}
	if err := c.Connect(ConnectOptions{App: "live", TCURL: "rtmp://" + address + "/live"}); err != nil {
		t.Fatal(err)
	}
	return c
}

// clipMessages are the tags of the clip.
func clipMessages(streamID uint32) []chunkMessage {
	var all []chunkMessage
	for p := flvclip.File[9+4:]; len(p) > 0; {
		n := int(be24(p[1:]))
		all = append(all, chunkMessage{
			typ: MessageType(p[0]), streamID: streamID, time: be24(p[4:]) | uint32(p[7])<<24, body: p[11 : 11+n],
		})
		p = p[11+n+4:]
	}
	return all
}

func TestClientPublishesToFFmpeg(t *testing.T) {
	ffmpegNeeded(t)
	address := loopback.Free(t)
	type result struct {
		counts map[string]string
		err    error
	}
	done := make(chan result, 1)
	gone := make(chan error, 1)
	go func() {
		counts, err := ffmpegProbe(t, "-listen", "1", "rtmp://"+address+"/live/s")
		done <- result{counts, err}
		gone <- err
	}()
	c := ffmpegConnect(t, address, gone, Options{ChunkSize: 4096})
	if err := c.Publish("s"); err != nil {
		t.Fatal(err)
	}
	for _, m := range clipMessages(c.StreamID()) {
		if err := c.WriteMessage(m.message(c.alloc)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// What it says is read until it goes, so that nothing is reset.
	if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := c.ReadMessage()
		if err != nil {
			break
		}
		m.Release()
	}
	if r := <-done; r.err != nil || r.counts["h264"] != "300" || r.counts["aac"] != "432" {
		t.Errorf("ffprobe counted %v, %v", r.counts, r.err)
	}
}

// FFmpeg as a server cuts key frames into chunks, and with times of more than
// 24 bits repeats them in the headers of these.
func TestClientPlaysFromFFmpeg(t *testing.T) {
	ffmpegNeeded(t)
	clip := ffmpegClip(t)
	for _, from := range []uint32{0, 16_775_000, 20_000_000} {
		address := loopback.Free(t)
		gone := make(chan error, 1)
		go func() {
			_, err := ffmpegRun(t, "ffmpeg", "-nostdin", "-v", "error", "-i", clip, "-c", "copy",
				"-output_ts_offset", fmt.Sprint(from/1000), "-f", "flv", "-listen", "1", "rtmp://"+address+"/live/s")
			gone <- err
		}()
		c := ffmpegConnect(t, address, gone, Options{})
		if err := c.Play("s"); err != nil {
			t.Fatal(err)
		}
		counts := map[MessageType]int{}
		var last uint32
		for {
			m, err := c.ReadMessage()
			if err != nil {
				if !linkEnded(err) {
					t.Error(err)
				}
				break
			}
			counts[m.Type]++
			if m.Type == TypeVideo {
				if m.Time < last || m.Time > from+10_100 {
					t.Errorf("from %d: %v at %d after %d", from, m.Type, m.Time, last)
				}
				last = m.Time
				if !bytes.Contains(flvclip.File, m.Payload.Bytes()) {
					t.Errorf("from %d: %d bytes at %d are not in the file", from, m.Payload.Len(), m.Time)
				}
			}
			m.Release()
		}
		if counts[TypeVideo] != 302 || counts[TypeAudio] != 433 {
			t.Errorf("from %d: counted %v", from, counts)
		}
		if err := <-gone; err != nil {
			t.Log("ffmpeg: ", err)
		}
	}
}
