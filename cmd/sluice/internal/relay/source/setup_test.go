package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
)

// cameras answers every connection: answer is called with each request, may write to the
// connection, and returns nil to end it, or an empty answer when it has written one.
func cameras(t *testing.T, answer func(w io.Writer, r *rtsp.Request) *rtsp.Response) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	one := func(conn net.Conn) {
		defer conn.Close()
		r := sluice.NewBufReader(conn)
		defer r.Recycle()
		for reader := rtsp.NewReader(r, rtsp.Limits{}); ; {
			item, err := reader.Read()
			if err != nil {
				return
			}
			if item.Request == nil {
				item.Release()
				continue
			}
			resp := answer(conn, item.Request)
			item.Release()
			if resp == nil {
				return
			}
			if resp.Status == 0 {
				continue
			}
			w := sluice.NewBufWriter(conn)
			if rtsp.WriteResponse(w, resp) != nil || w.Flush() != nil {
				return
			}
			w.Recycle()
		}
	}
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { one(conn) })
		}
	})
	return l.Addr().String()
}

const twoTracks = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:v\r\nm=audio 0 RTP/AVP 8\r\na=control:a\r\n"

// usual is what a camera answers in the usual way.
func usual(r *rtsp.Request, description string) *rtsp.Response {
	resp := r.Reply(rtsp.StatusOK)
	switch r.Method {
	case rtsp.Describe:
		resp.Body = mem.Wrap([]byte(description), nil)
	case rtsp.Setup:
		resp.Header.Add("Session", "12345678")
		resp.Header.Add("Transport", r.Header.Get("Transport"))
	}
	return resp
}

// sound is 20 ms of A-law on a channel.
func sound(channel, payloadType byte, number uint16) []byte {
	p := []byte{'$', channel, 0, 172, 0x80, payloadType}
	p = binary.BigEndian.AppendUint16(p, number)
	p = binary.BigEndian.AppendUint32(p, uint32(number)*160)
	p = binary.BigEndian.AppendUint32(p, 7)
	return append(p, bytes.Repeat([]byte{0x55}, 160)...)
}

// pulledFrom pulls from an address until there was a frame of sound or the pull ended.
func pulledFrom(t *testing.T, address string) (frames int, left []string, err error) {
	t.Helper()
	s, err := Parse("live/cam=" + address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = pull(ctx, s, &Options{Alloc: mem.Default(), MaxFrame: 1 << 20, Start: 5 * time.Second, Idle: 30 * time.Second}, func(f live.Frame) error {
		f.Payload.Release()
		if f.Type == 8 {
			frames++
			cancel()
		}
		return nil
	}, func(what string) { left = append(left, what) }, func(edge.Way) {})
	return frames, left, err
}

// A track that the camera refuses costs that track, and all of them the pull, with what the camera said.
func TestTracksThatAreRefused(t *testing.T) {
	for _, all := range []bool{false, true} {
		address := cameras(t, func(w io.Writer, r *rtsp.Request) *rtsp.Response {
			switch {
			case r.Method == rtsp.Setup && (all || strings.HasSuffix(r.URL, "/v")):
				resp := r.Reply(rtsp.StatusUnsupportedTransport)
				resp.Reason = "No such luck"
				return resp
			case r.Method == rtsp.Play:
				_, _ = w.Write(sound(0, 8, 1)) // before the answer
				_, _ = w.Write(sound(0, 8, 2))
			}
			return usual(r, twoTracks)
		})
		frames, left, err := pulledFrom(t, "rtsp://"+address+"/s")
		if all {
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "461") || !strings.Contains(err.Error(), "No such luck") {
				t.Errorf("all refused: %v", err)
			}
			continue
		}
		if frames == 0 || len(left) != 1 || !strings.Contains(left[0], "461") {
			t.Errorf("%d frames, left out %q, %v", frames, left, err)
		}
	}
}

// A session's timeout that is no number leaves the session its id; packets on channels that were not
// agreed on are known by their payload type.
func TestOddSessionsOfCameras(t *testing.T) {
	for _, session := range []string{"12345678;timeout=60.5", "12345678;timeout=", "12345678; timeout=60s"} {
		address := cameras(t, func(w io.Writer, r *rtsp.Request) *rtsp.Response {
			if r.Method == rtsp.Play && r.Header.Get("Session") != "12345678" {
				return r.Reply(rtsp.StatusSessionNotFound)
			}
			resp := usual(r, "m=audio 0 RTP/AVP 8\r\na=control:a\r\n")
			switch r.Method {
			case rtsp.Setup:
				resp.Header = nil
				resp.Header.Add("CSeq", r.Header.Get("CSeq"))
				resp.Header.Add("Session", session)
			case rtsp.Play:
				for n := range uint16(8) {
					_, _ = w.Write(sound(100, 8, n))
				}
			}
			return resp
		})
		if frames, _, err := pulledFrom(t, "rtsp://"+address+"/s"); frames == 0 {
			t.Errorf("%q: %v", session, err)
		}
	}
}

// Redirections are followed, so many of them; user and password stay with the host.
func TestRedirectionsOfCameras(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]string{} // Authorization, by path
	var here, there string
	address := cameras(t, func(w io.Writer, r *rtsp.Request) *rtsp.Response {
		mu.Lock()
		defer mu.Unlock()
		_, path, _ := strings.Cut(strings.TrimPrefix(r.URL, "rtsp://"), "/")
		asked[path] = r.Header.Get("Authorization")
		resp := r.Reply(302)
		switch path {
		case "first":
			resp.Header.Add("Location", "/second")
		case "second":
			resp = r.Reply(301)
			resp.Header.Add("Location", there+"/third")
		case "loop":
			resp.Header.Add("Location", here+"/loop")
		case "http":
			resp.Header.Add("Location", "http://127.0.0.1/x")
		default:
			if asked[path] == "" && strings.HasPrefix(path, "second/") {
				break
			}
			if r.Header.Get("Authorization") == "" {
				resp = r.Reply(rtsp.StatusUnauthorized)
				resp.Header.Add("WWW-Authenticate", `Basic realm="r"`)
				return resp
			}
			if r.Method == rtsp.Play {
				for n := range uint16(4) {
					_, _ = w.Write(sound(0, 8, n))
				}
			}
			return usual(r, "m=audio 0 RTP/AVP 8\r\na=control:a\r\n")
		}
		return resp
	})
	here = "rtsp://" + address
	_, port, _ := net.SplitHostPort(address)
	there = "rtsp://localhost:" + port
	frames, _, err := pulledFrom(t, "rtsp://u:secret@"+address+"/first")
	if frames != 0 || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "401") || asked["third"] != "" {
		t.Errorf("another host: %d frames, %v, %q", frames, err, asked["third"])
	}
	there = here
	if frames, _, err := pulledFrom(t, "rtsp://u:secret@"+address+"/first"); frames == 0 {
		t.Errorf("the same host: %v", err)
	}
	if _, _, err := pulledFrom(t, here+"/loop"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "10 redirections") {
		t.Errorf("in circles: %v", err)
	}
	if _, _, err := pulledFrom(t, here+"/http"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "rtsp://host") {
		t.Errorf("to HTTP: %v", err)
	}
}

// A session that is not wanted any more is ended: cameras have few.
func TestSessionsAreEndedWhenTheyAreLetGo(t *testing.T) {
	ended := make(chan string, 1)
	address := cameras(t, func(w io.Writer, r *rtsp.Request) *rtsp.Response {
		switch r.Method {
		case rtsp.Play:
			head, err := r.Reply(rtsp.StatusOK).AppendHead(nil)
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(append(head, sound(0, 8, 1)...))
			return &rtsp.Response{}
		case rtsp.Teardown:
			ended <- r.Header.Get("Session")
		}
		return usual(r, "m=audio 0 RTP/AVP 8\r\na=control:a\r\n")
	})
	if frames, _, err := pulledFrom(t, "rtsp://"+address+"/s"); frames == 0 {
		t.Fatal(err)
	}
	select {
	case id := <-ended:
		if id != "12345678" {
			t.Errorf("session %q", id)
		}
	case <-time.After(5 * time.Second):
		t.Error("no TEARDOWN")
	}
}
