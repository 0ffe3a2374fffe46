package rtsp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/rtsp"
	"github.com/sluice-go/sluice/sluicetest"
)

var update = flag.Bool("update", false, "write what ffmpeg sends to testdata")

// transcript is what ffmpeg 5.1.9 sent when it pushed half a second of the clip:
// the client's side of a connection, byte for byte.
var transcript = filepath.Join("testdata", "ffmpeg-record.rtsp")

// pushed is what a server made of ffmpeg's side of a connection.
type pushed struct {
	methods []string
	sdp     string
	tracks  []string        // URLs of SETUP
	packets [4]int          // by channel: RTP and RTCP of video, of audio
	next    [4]uint16       // RTP sequence number that comes next
	frames  map[uint32]bool // RTP timestamps of video
	units   int             // of audio
	most    int             // units in one packet
}

// take counts one item and answers a request.
func (p *pushed) take(item *rtsp.Item) (*rtsp.Response, error) {
	if f := &item.Interleaved; item.Request == nil && item.Response == nil {
		return nil, p.packet(f.Channel, f.Payload.Bytes())
	}
	m := item.Request
	if m == nil {
		return nil, errors.New("ffmpeg sent a response")
	}
	if n, err := m.Header.CSeq(); err != nil || int(n) != len(p.methods)+1 {
		return nil, fmt.Errorf("CSeq of request %d is %d, %v", len(p.methods)+1, n, err)
	}
	p.methods = append(p.methods, m.Method)
	reply := m.Reply(rtsp.StatusOK)
	const id = "0123456789abcdef"
	switch m.Method {
	case rtsp.Options:
		reply.Header.Add("Public", "OPTIONS, ANNOUNCE, SETUP, RECORD, TEARDOWN")
		return reply, nil
	case rtsp.Announce:
		if got := m.Header.Get("content-type"); got != "application/sdp" {
			return nil, fmt.Errorf("ANNOUNCE of %q", got)
		}
		p.sdp = string(m.Body.Bytes())
		return reply, nil
	case rtsp.Setup:
		list, err := rtsp.ParseTransport(m.Header.Get("Transport"))
		if err != nil {
			return nil, err
		}
		t := list[0]
		first := 2 * len(p.tracks)
		if t.Lower != "TCP" || !t.Unicast || !t.Record() || t.Interleaved == nil || *t.Interleaved != (rtsp.Pair{First: first, Last: first + 1}) {
			return nil, fmt.Errorf("SETUP with %+v", t)
		}
		p.tracks = append(p.tracks, m.URL)
		reply.Header.Add("Transport", t.String())
		reply.Header.Add("Session", rtsp.Session{ID: id, Timeout: time.Minute}.String())
		return reply, nil
	case rtsp.Record, rtsp.Teardown:
		if s, err := rtsp.ParseSession(m.Header.Get("Session")); err != nil || s.ID != id {
			return nil, fmt.Errorf("%s in session %q, %v", m.Method, s.ID, err)
		}
		reply.Header.Add("Session", id)
		return reply, nil
	}
	return nil, fmt.Errorf("ffmpeg wants to %s", m.Method)
}

func (p *pushed) packet(channel uint8, b []byte) error {
	if channel > 3 || len(b) < 8 || b[0]>>6 != 2 {
		return fmt.Errorf("a packet of %d bytes on channel %d: % x", len(b), channel, b[:min(len(b), 12)])
	}
	p.packets[channel]++
	if channel%2 == 0 {
		number := binary.BigEndian.Uint16(b[2:])
		if p.packets[channel] > 1 && number != p.next[channel] {
			return fmt.Errorf("packet %d of channel %d has number %d, want %d", p.packets[channel], channel, number, p.next[channel])
		}
		p.next[channel] = number + 1
	}
	switch {
	case channel%2 == 1: // RTCP
	case len(b) < 14 || b[0]&0x3f != 0: // padding, extension, sources
		return fmt.Errorf("RTP header % x", b[:min(len(b), 14)])
	case channel == 0:
		if p.frames == nil {
			p.frames = map[uint32]bool{}
		}
		p.frames[binary.BigEndian.Uint32(b[4:])] = true
	default:
		// RFC 3640, section 3.2.1: the length of the headers in bits, of which
		// each unit of the AAC-hbr mode has 16.
		n := int(binary.BigEndian.Uint16(b[12:])) / 16
		p.units += n
		p.most = max(p.most, n)
	}
	return nil
}

// serve reads until ffmpeg has torn the session down, and answers on conn.
func (p *pushed) serve(conn net.Conn, from io.Reader) error {
	br := sluice.NewBufReader(from)
	defer br.Recycle()
	w := sluice.NewBufWriter(conn)
	defer w.Recycle()
	r := rtsp.NewReader(br, rtsp.Limits{})
	for {
		item, err := r.Read()
		if err != nil {
			return err
		}
		reply, err := p.take(&item)
		item.Release()
		if err == nil && reply != nil {
			if err = rtsp.WriteResponse(w, reply); err == nil {
				err = w.Flush()
			}
		}
		if err != nil {
			return err
		}
		if p.methods[len(p.methods)-1] == rtsp.Teardown {
			return nil
		}
	}
}

// ffmpegPush lets ffmpeg push the clip, as much as args say, to a listener of
// the test's own, and returns what arrived.
func ffmpegPush(t *testing.T, args ...string) (p *pushed, sent []byte) {
	t.Helper()
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on this machine: scripts/ensure-tools.sh installs it; the recorded transcript is tested anyway")
	}
	sluicetest.NoLeaks(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()

	args = append([]string{"-hide_banner", "-loglevel", "error", "-f", "flv", "-i", "pipe:0", "-c", "copy"}, args...)
	args = append(args, "-rtsp_transport", "tcp", "-f", "rtsp", fmt.Sprintf("rtsp://%s/live/x", l.Addr()))
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin = bytes.NewReader(flvclip.File)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p = new(pushed)
	var record bytes.Buffer
	err = func() error {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		return p.serve(conn, io.TeeReader(conn, &record))
	}()
	if err != nil {
		cancel()
	}
	if ended := cmd.Wait(); err != nil || ended != nil {
		t.Fatalf("%v; ffmpeg: %v\n%s", err, ended, complaints.String())
	}
	return p, record.Bytes()
}

func TestFFmpegRecordsTheWholeClip(t *testing.T) {
	p, _ := ffmpegPush(t)
	checkPushed(t, p)
	// ffmpeg gathers audio units to packets, and does not send those that it
	// holds at the end; before them none is missing, which the numbers say.
	if len(p.frames) != 300 || p.units > 432 || p.units <= 432-p.most {
		t.Errorf("%d frames and %d audio units, at most %d in a packet; want 300 and 432", len(p.frames), p.units, p.most)
	}
}

// The transcript comes from here: go test -run FFmpegSends -update. Another
// ffmpeg may cut the half second elsewhere, so that its numbers are only shown.
func TestFFmpegSendsWhatWasRecorded(t *testing.T) {
	now, sent := ffmpegPush(t, "-t", "0.5")
	checkPushed(t, now)
	if *update {
		if err := os.WriteFile(transcript, sent, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	then, _ := replay(t, sluice.NewBufReaderBytes(recorded(t)))
	checkPushed(t, then)
	t.Logf("%d frames and %d audio units; recorded were %d and %d", len(now.frames), now.units, len(then.frames), then.units)
}

func checkPushed(t *testing.T, p *pushed) {
	t.Helper()
	want := []string{rtsp.Options, rtsp.Announce, rtsp.Setup, rtsp.Setup, rtsp.Record, rtsp.Teardown}
	if !slices.Equal(p.methods, want) {
		t.Errorf("methods %q, want %q", p.methods, want)
	}
	if !strings.HasPrefix(p.sdp, "v=0\r\n") || !strings.Contains(p.sdp, "m=video 0 RTP/AVP ") || !strings.Contains(p.sdp, "m=audio 0 RTP/AVP ") {
		t.Errorf("description %q", p.sdp)
	}
	for i, track := range p.tracks {
		if !strings.HasSuffix(track, fmt.Sprintf("/live/x/streamid=%d", i)) {
			t.Errorf("track %d is %s", i, track)
		}
	}
	for channel, n := range p.packets {
		if n == 0 {
			t.Errorf("nothing on channel %d", channel)
		}
	}
}
