package live

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/mem"
)

// tag is one tag of an FLV file, apart from what this package knows of it.
type tag struct {
	typ  flv.TagType
	time uint32
	body []byte
}

const eventTimeout = time.Minute

// clipTags returns the tags of the clip.
func clipTags(t testing.TB) []tag {
	t.Helper()
	tags, rest := readTags(flvclip.File[13:])
	if len(rest) > 0 || len(tags) == 0 {
		t.Fatalf("the clip has %d tags and %d bytes after them", len(tags), len(rest))
	}
	return tags
}

// readTags takes whole tags off p.
func readTags(p []byte) (tags []tag, rest []byte) {
	for len(p) >= 11 {
		size := int(binary.BigEndian.Uint32(p) & 0xFFFFFF)
		if len(p) < size+15 {
			break
		}
		at := binary.BigEndian.Uint32(p[4:])
		tags = append(tags, tag{flv.TagType(p[0]), at>>8 | at<<24, p[11 : 11+size]})
		if binary.BigEndian.Uint32(p[11+size:]) != uint32(11+size) {
			return tags, p
		}
		p = p[size+15:]
	}
	return tags, p
}

func (g tag) frame() Frame {
	return Frame{Type: g.typ, Time: g.time, Payload: mem.Wrap(bytes.Clone(g.body), nil)}
}

func (g tag) equal(o tag) bool {
	return g.typ == o.typ && g.time == o.time && bytes.Equal(g.body, o.body)
}

func (g tag) key() bool {
	return g.typ == flv.TagVideo && len(g.body) > 1 && g.body[0]>>4 == 1 && g.body[1] == 1
}

// video and audio make tags of media that decoders would not like.
func video(at uint32, key bool, n int) tag {
	b := make([]byte, 5+n)
	b[0] = 0x27
	if key {
		b[0] = 0x17
	}
	b[1] = 1
	for i := range n {
		b[5+i] = byte(at) + byte(i)
	}
	return tag{flv.TagVideo, at, b}
}

func audio(at uint32, n int) tag {
	b := make([]byte, 2+n)
	b[0], b[1] = 0xAF, 1
	return tag{flv.TagAudio, at, b}
}

func videoConfig(at uint32, mark byte) tag {
	return tag{flv.TagVideo, at, []byte{0x17, 0, 0, 0, 0, mark}}
}

func mustPublish(t testing.TB, h *Hub, name string, o PublishOptions) *Publisher {
	t.Helper()
	p, err := h.Publish(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func send(t testing.TB, p *Publisher, tags ...tag) {
	t.Helper()
	for _, g := range tags {
		if err := p.Publish(g.frame()); err != nil {
			t.Fatal(err)
		}
	}
}

// pair returns the two ends of a loopback connection.
func pair(t testing.TB) (server, client *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); c.Close() })
	c.SetDeadline(time.Now().Add(eventTimeout))
	return s.(*net.TCPConn), c.(*net.TCPConn)
}

// newWriter returns a writer that is closed at the end. Unless the test says so, it
// neither leaves anything out nor closes a viewer because the machine had no time for it.
func newWriter(t testing.TB, o WriterOptions) *Writer {
	t.Helper()
	o.Lag, o.Stall = cmp.Or(o.Lag, time.Hour), cmp.Or(o.Stall, time.Hour)
	w := NewWriter(o)
	t.Cleanup(w.Close)
	return w
}

func add(t testing.TB, w *Writer, c net.Conn, s *Stream, o ViewerOptions) *Viewer {
	t.Helper()
	v, err := w.Add(c, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// waitForPlaces waits until each viewer of s has its place in what is there now, or
// waits for the next key frame: a viewer begins where its loop first looks at it.
func waitForPlaces(t testing.TB, s *Stream) {
	t.Helper()
	for end := time.Now().Add(eventTimeout); time.Now().Before(end); runtime.Gosched() {
		s.mu.Lock()
		n := s.arriving
		s.mu.Unlock()
		if n == 0 {
			return
		}
	}
	t.Fatal("a viewer is not looked at")
}

// fileTags reads a viewer's FLV until its end.
func fileTags(t testing.TB, r io.Reader) []tag {
	t.Helper()
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return fileOf(t, p)
}

func fileOf(t testing.TB, p []byte) []tag {
	t.Helper()
	if len(p) < 13 || string(p[:3]) != "FLV" {
		t.Fatalf("%d bytes that do not begin like an FLV file: %.20q", len(p), p)
	}
	tags, rest := readTags(p[13:])
	if len(rest) > 0 {
		t.Fatalf("%d bytes after %d tags are no tag", len(rest), len(tags))
	}
	return tags
}

func equalTags(t testing.TB, got, want []tag) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !got[i].equal(want[i]) {
			t.Errorf("tag %d: got %v at %d of %d bytes, want %v at %d of %d bytes", i,
				got[i].typ, got[i].time, len(got[i].body), want[i].typ, want[i].time, len(want[i].body))
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d tags, want %d", len(got), len(want))
	}
}

func waitFor(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(eventTimeout):
		t.Fatalf("no %s", what)
	}
}
