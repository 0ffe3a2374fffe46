package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// Publishers who stop inside of large frames take no more memory together than max-memory
// allows: those that hold most for longest are ended and hear why. One whose frames come to
// their ends is not.
func TestPublishersThatStopHalfWay(t *testing.T) {
	const (
		limit, frame = 16 << 20, 2 << 20
		share        = limit / 4
		publishers   = 20
	)
	for _, c := range []struct {
		name  string
		begin func(t *testing.T, s *Server, name string) net.Conn // sends most of a frame
		mute  bool                                                // the protocol says no reason at the end
	}{
		{"rtmp, in pieces", func(t *testing.T, s *Server, name string) net.Conn {
			x := rtmpPush(t, s, "rtmp", "live", name)
			return x.half(t, frame)
		}, false},
		{"rtmp, in one chunk", func(t *testing.T, s *Server, name string) net.Conn {
			x := rtmpPush(t, s, "rtmp", "live", name)
			size := []byte{0, 0, 0, 4, 0, 0x80, 0, 0}
			if _, err := x.conn.Write(append([]byte{2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0}, size[4:]...)); err != nil {
				t.Fatal(err)
			}
			return x.half(t, frame)
		}, false},
		{"http", func(t *testing.T, s *Server, name string) net.Conn {
			return halfPost(t, s, name, frame, false)
		}, false},
		{"http, in chunks", func(t *testing.T, s *Server, name string) net.Conn {
			return halfPost(t, s, name, frame, true)
		}, false},
		{"rtsp", halfPicture(frame), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rtmpServeWith(t, func(c *relayConfig) { c.RTSP, c.MaxMemory, c.MaxFrame = "127.0.0.1:0", limit, frame }, func(s *Server) {
				s.host.Room = func() error { return nil } // all come before memory is short
			})
			good := rtmpPush(t, s, "rtmp", "live", "good")
			whole := rtmpFrame{flv.TagVideo, 0, "\x22\x01\x00\x00\x00" + strings.Repeat("x", 300<<10)}
			before := mem.Default().Stats().OutBytes
			ended := make(chan error, publishers)
			for i := range publishers {
				conn := c.begin(t, s, "half"+strconv.Itoa(i))
				go func() {
					text, err := io.ReadAll(conn)
					if err == nil && !c.mute && !bytes.Contains(text, []byte("the server is full")) {
						err = fmt.Errorf("the end of %q", text)
					}
					ended <- err
				}()
				if err := good.send([]rtmpFrame{whole}); err != nil {
					t.Fatal(err)
				}
			}
			for range publishers - share/frame {
				if err := <-ended; err != nil && !errors.Is(err, syscall.ECONNRESET) {
					t.Error(err)
				}
			}
			rtmpUntil(t, "what was held is free", func() bool {
				return mem.Default().Stats().OutBytes-before < 2*share+publishers*int64(len(whole.Body))
			})
			if n := s.host.Register.Number(session.RolePublisher); n < 2 {
				t.Errorf("%d publishers are left", n)
			}
			frames := int64(0)
			for _, c := range s.host.Register.List() {
				if c.Stream == "live/good" {
					frames = c.Frames.Load()
				}
			}
			if frames == 0 {
				t.Error("the one whose frames are whole was ended")
			}
			good.close()
		})
	}
}

// half sends three quarters of a frame.
func (x *rtmpClient) half(t *testing.T, frame int) net.Conn {
	t.Helper()
	text := rtmp.AppendChunkHeader(nil, 6, rtmp.TypeVideo, x.c.StreamID(), 0, frame)
	part := make([]byte, x.c.ChunkSize())
	for sent := 0; sent < frame*3/4; sent += len(part) {
		if sent > 0 {
			text = rtmp.AppendContinuation(text, 6, 0)
		}
		text = append(text, part...)
	}
	if _, err := x.conn.Write(text); err != nil {
		t.Fatal(err)
	}
	return x.conn
}

// halfPost publishes three quarters of a frame over HTTP.
func halfPost(t *testing.T, s *Server, name string, frame int, chunked bool) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addresses()["http"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	text := append([]byte(nil), flvtest.Header...)
	text = flvtest.Tag{Type: flv.TagVideo, Payload: strings.Repeat("x", frame)}.Append(text)
	head := "POST /live/" + name + ".flv HTTP/1.1\r\nHost: a\r\n"
	body := text[:len(text)*3/4]
	if chunked {
		head += "Transfer-Encoding: chunked\r\n\r\n"
		var pieces []byte
		for len(body) > 0 {
			n := min(len(body), 50_000)
			pieces = append(strconv.AppendInt(pieces, int64(n), 16), "\r\n"...)
			pieces = append(append(pieces, body[:n]...), "\r\n"...)
			body = body[n:]
		}
		body = pieces
	} else {
		head += "Content-Length: " + strconv.Itoa(len(text)) + "\r\n\r\n"
	}
	if _, err := conn.Write(append([]byte(head), body...)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// halfPicture publishes three quarters of a picture by RTSP.
func halfPicture(size int) func(t *testing.T, s *Server, name string) net.Conn {
	return func(t *testing.T, s *Server, name string) net.Conn {
		t.Helper()
		x := rtspDial(t, s)
		const sdp = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=s\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:trackID=0\r\n"
		x.must(200, "ANNOUNCE", "live/"+name, sdp, rtspSDP)
		x.must(200, "SETUP", "live/"+name+"/trackID=0", "", rtspTCP+";mode=record")
		x.must(200, "RECORD", "live/"+name, "")
		const piece = 32 << 10
		var text []byte
		for i := range size * 3 / 4 / piece {
			text = append(text, '$', 0, (12+piece)>>8, (12+piece)&0xff)
			text = append(text, 0x80, 96, byte(i>>8), byte(i), 0, 0, 0, 0, 0, 0, 0, 1, 0x41)
			text = append(text, make([]byte, piece-1)...)
		}
		if _, err := x.conn.Write(text); err != nil {
			t.Fatal(err)
		}
		return x.conn
	}
}
