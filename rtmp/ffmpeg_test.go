package rtmp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// ffmpegServer keeps what is published and plays it from its beginning to every
// client that asks, also while the publisher still sends.
type ffmpegServer struct {
	t     *testing.T
	l     net.Listener
	alloc *mem.Allocator
	o     Options
	wg    sync.WaitGroup

	mu       sync.Mutex
	changed  *sync.Cond
	request  *Request // of the publisher
	messages []chunkMessage
	over     bool
	failed   []error
	requests []*Request
}

// ffmpegNeeded skips a test where the programs are not installed.
func ffmpegNeeded(t *testing.T) {
	t.Helper()
	for _, name := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("what is tested is how the real %s behaves, and it is not installed", name)
		}
	}
}

func ffmpegServe(t *testing.T, o Options) *ffmpegServer {
	t.Helper()
	ffmpegNeeded(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &ffmpegServer{t: t, l: l, alloc: mem.New(mem.Options{Leak: mem.LeakTrace}), o: o}
	s.changed = sync.NewCond(&s.mu)
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() {
				defer conn.Close()
				err := s.serve(conn)
				// ffmpeg goes after its last word without waiting for ours.
				if s.isOver() && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) {
					return
				}
				if err != nil {
					s.mu.Lock()
					s.failed = append(s.failed, err)
					s.mu.Unlock()
				}
			})
		}
	})
	sluicetest.NoLeaks(t, s.alloc)
	t.Cleanup(func() {
		l.Close()
		s.wg.Wait()
		if len(s.failed) > 0 {
			t.Error(errors.Join(s.failed...))
		}
	})
	return s
}

func (s *ffmpegServer) serve(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(linkWait)); err != nil {
		return err
	}
	r := &sluice.BufReader{Allocator: s.alloc}
	r.Reset(conn)
	defer r.Recycle()
	w := sluice.NewBufWriter(conn, sluice.Options{Allocator: s.alloc})
	defer w.Recycle()
	c := NewConn(r, w, s.o)
	defer c.Recycle()
	first, err := r.Peek(1 + handshakeLen)
	if err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if _, _, ok := signed(first[1:], playerSide); !ok {
		// It would not look at our digest either.
		return fmt.Errorf("handshake: no digest was found")
	}
	if err := c.ServerHandshake(); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	req, err := c.ReadRequest()
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	if req.Stream != "s" {
		code := PlayStreamNotFound
		if req.Kind == Publish {
			code = PublishDenied
		}
		return c.Refuse(req, code, "there is only s")
	}
	if err := c.Accept(req); err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	if req.Kind == Publish {
		return s.publish(c, req)
	}
	return s.play(conn, c, req)
}

func (s *ffmpegServer) publish(c *Conn, req *Request) error {
	defer func() {
		s.mu.Lock()
		s.over = true
		s.changed.Broadcast()
		s.mu.Unlock()
	}()
	for {
		m, err := c.ReadMessage()
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		if m.Type == TypeCommandAMF0 {
			action, err := c.Answer(m)
			m.Release()
			if err != nil {
				return fmt.Errorf("publish: %w", err)
			}
			if action == Close {
				return c.End(req)
			}
			continue
		}
		s.mu.Lock()
		s.request = req
		s.messages = append(s.messages, chunkPlain(&m))
		s.changed.Broadcast()
		s.mu.Unlock()
	}
}

func (s *ffmpegServer) play(conn net.Conn, c *Conn, req *Request) error {
	// What the player says is read until it goes: closing with bytes unread
	// would reset the connection, and the player would lose what is on its way.
	var reading sync.WaitGroup
	defer func() {
		_ = conn.(*net.TCPConn).CloseWrite()
		reading.Wait()
	}()
	reading.Go(func() {
		for {
			m, err := c.ReadMessage()
			if err != nil {
				return
			}
			if m.Type == TypeCommandAMF0 {
				_, err = c.Answer(m)
			}
			m.Release()
			if err != nil {
				return
			}
		}
	})
	for i := 0; ; i++ {
		s.mu.Lock()
		for i == len(s.messages) && !s.over {
			s.changed.Wait()
		}
		if i == len(s.messages) {
			s.mu.Unlock()
			return c.End(req)
		}
		p := s.messages[i]
		s.mu.Unlock()
		// Metadata is passed on as players expect it.
		p.body = bytes.TrimPrefix(p.body, []byte("\x02\x00\x0d@setDataFrame"))
		m := p.message(s.alloc)
		m.ChunkStream, m.StreamID = 0, req.StreamID
		if err := c.WriteMessage(m); err != nil {
			return fmt.Errorf("play: %w", err)
		}
		if err := c.Flush(); err != nil {
			return fmt.Errorf("play: %w", err)
		}
	}
}

func (s *ffmpegServer) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

func (s *ffmpegServer) address(name string) string {
	return "rtmp://" + s.l.Addr().String() + "/live/" + name
}

// ffmpegRun runs a program to its end and returns its output.
func ffmpegRun(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), linkWait)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", name, err, stderr.Bytes())
	}
	return string(out), err
}

// ffmpegClip writes the clip to a file.
func ffmpegClip(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.flv")
	if err := os.WriteFile(path, flvclip.File, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ffmpegProbe has ffprobe count the packets of each kind of an input.
func ffmpegProbe(t *testing.T, input ...string) (map[string]string, error) {
	t.Helper()
	args := append([]string{"-v", "error", "-count_packets", "-show_entries", "stream=codec_name,nb_read_packets", "-of", "json"}, input...)
	out, err := ffmpegRun(t, "ffprobe", args...)
	if err != nil {
		return nil, err
	}
	var report struct {
		Streams []struct {
			Codec   string `json:"codec_name"`
			Packets string `json:"nb_read_packets"`
		} `json:"streams"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return nil, err
	}
	counts := map[string]string{}
	for _, s := range report.Streams {
		counts[s.Codec] = s.Packets
	}
	return counts, nil
}

// ffmpegCount is what ffmpegProbe counts at an address.
func ffmpegCount(t *testing.T, address string) map[string]string {
	t.Helper()
	counts, err := ffmpegProbe(t, address)
	if err != nil {
		t.Error(err)
	}
	return counts
}

func TestFFmpegPublishesAndPlays(t *testing.T) {
	for _, size := range []int{7, 128, DefaultChunkSize, MaxChunkSize} {
		t.Run(fmt.Sprint("chunk size ", size), func(t *testing.T) {
			s := ffmpegServe(t, Options{ChunkSize: size})
			clip := ffmpegClip(t)
			if _, err := ffmpegRun(t, "ffmpeg", "-nostdin", "-v", "error", "-i", clip, "-c", "copy", "-f", "flv", s.address("s?token=a%20b")); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"h264": "300", "aac": "432"}
			for range 2 {
				if got := ffmpegCount(t, s.address("s")); len(got) != 2 || got["h264"] != want["h264"] || got["aac"] != want["aac"] {
					t.Fatalf("ffprobe counted %v, want %v", got, want)
				}
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			req := s.request
			if req.App != "live" || req.Stream != "s" || req.Query.Get("token") != "a b" || req.PublishType != "live" {
				t.Errorf("ffmpeg asked for %+v", req)
			}
			if !strings.HasPrefix(req.TCURL, "rtmp://127.0.0.1:") || !strings.Contains(req.FlashVer, "Lavf") {
				t.Errorf("ffmpeg said tcUrl %q, flashVer %q", req.TCURL, req.FlashVer)
			}
		})
	}
}

// What arrives is what lies in the file, byte by byte and with its times.
func TestFFmpegPublishesTheTagsOfTheFile(t *testing.T) {
	s := ffmpegServe(t, Options{})
	if _, err := ffmpegRun(t, "ffmpeg", "-nostdin", "-v", "error", "-i", ffmpegClip(t), "-c", "copy", "-f", "flv", s.address("s")); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.over {
		s.changed.Wait()
	}
	counts := map[MessageType]int{}
	last := map[MessageType]uint32{}
	for _, m := range s.messages {
		counts[m.typ]++
		if m.time < last[m.typ] || m.time > 10_100 {
			t.Errorf("%v after %d ms", m, last[m.typ])
		}
		last[m.typ] = m.time
		if m.streamID != messageStream {
			t.Errorf("%v on message stream %d", m, m.streamID)
		}
		if m.typ != TypeDataAMF0 && !bytes.Contains(flvclip.File, m.body) {
			t.Errorf("%v is not in the file", m)
		}
	}
	// Two sequence headers and the end of the video's sequence stand beside the
	// packets.
	if counts[TypeVideo] != 302 || counts[TypeAudio] != 433 || counts[TypeDataAMF0] == 0 {
		t.Errorf("counted %v", counts)
	}
}

// A player that waits while another publishes gets everything.
func TestFFmpegPlaysWhileAnotherPublishes(t *testing.T) {
	s := ffmpegServe(t, Options{})
	got := make(chan map[string]string, 1)
	s.wg.Go(func() { got <- ffmpegCount(t, s.address("s")) })
	if _, err := ffmpegRun(t, "ffmpeg", "-nostdin", "-v", "error", "-readrate", "8", "-i", ffmpegClip(t), "-c", "copy", "-f", "flv", s.address("s")); err != nil {
		t.Fatal(err)
	}
	if got := <-got; got["h264"] != "300" || got["aac"] != "432" {
		t.Errorf("ffprobe counted %v", got)
	}
}

func TestFFmpegIsRefused(t *testing.T) {
	s := ffmpegServe(t, Options{})
	_, err := ffmpegRun(t, "ffmpeg", "-nostdin", "-v", "error", "-i", s.address("other"), "-f", "null", "-")
	if err == nil || !strings.Contains(err.Error(), "there is only s") {
		t.Errorf("playing an unknown stream: %v", err)
	}
	_, err = ffmpegRun(t, "ffmpeg", "-nostdin", "-v", "error", "-i", ffmpegClip(t), "-c", "copy", "-f", "flv", s.address("other"))
	if err == nil || !strings.Contains(err.Error(), "there is only s") {
		t.Errorf("publishing a name that is denied: %v", err)
	}
}

// Our client against our server with the clip in between is the same as
// ffmpeg's: what is published is what ffprobe counts.
func TestClientPublishesForFFmpeg(t *testing.T) {
	s := ffmpegServe(t, Options{})
	conn, err := net.Dial("tcp", s.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := linkNew(t, conn, Options{ChunkSize: 4096})
	defer c.end()
	if err := c.ClientHandshake(); err != nil {
		t.Fatal(err)
	}
	if err := c.Connect(ConnectOptions{App: "live", TCURL: "rtmp://" + s.l.Addr().String() + "/live"}); err != nil {
		t.Fatal(err)
	}
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
	if got := ffmpegCount(t, s.address("s")); got["h264"] != "300" || got["aac"] != "432" {
		t.Errorf("ffprobe counted %v", got)
	}
}

// Over four and a half hours a time has more than 24 bits: it then stands
// behind the header, and behind that of each further chunk.
func TestFFmpegWithLongTimes(t *testing.T) {
	const from = 16_775_000
	s := ffmpegServe(t, Options{ChunkSize: InitialChunkSize})
	if _, err := ffmpegRun(t, "ffmpeg", "-nostdin", "-v", "error", "-i", ffmpegClip(t), "-c", "copy",
		"-output_ts_offset", fmt.Sprint(from/1000), "-f", "flv", s.address("s")); err != nil {
		t.Fatal(err)
	}
	if got := ffmpegCount(t, s.address("s")); got["h264"] != "300" || got["aac"] != "432" {
		t.Errorf("ffprobe counted %v", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := map[MessageType]uint32{}
	for _, m := range s.messages {
		if m.typ != TypeDataAMF0 && m.time != 0 && m.time < from-1000 {
			t.Errorf("%v, want times from %d", m, from)
		}
		if m.typ != TypeDataAMF0 && m.time < last[m.typ] {
			t.Errorf("%v after %d", m, last[m.typ])
		}
		last[m.typ] = m.time
	}
	if last[TypeVideo] < extended {
		t.Errorf("the last video is at %d, which needs no extended timestamp", last[TypeVideo])
	}
}
