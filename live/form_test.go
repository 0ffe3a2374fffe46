package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http/httputil"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

// rtmpTags takes RTMP chunks of complete messages apart: those that a stream
// sends, which begin with a full header each.
func rtmpTags(t testing.TB, p []byte) (tags []tag) {
	t.Helper()
	for len(p) > 0 {
		if p[0]>>6 != 0 {
			t.Fatalf("a message begins with chunk format %d", p[0]>>6)
		}
		if len(p) < 12 {
			t.Fatalf("a message header of %d bytes", len(p))
		}
		id := p[0]
		at := uint32(p[1])<<16 | uint32(p[2])<<8 | uint32(p[3])
		size := int(p[4])<<16 | int(p[5])<<8 | int(p[6])
		typ := flv.TagType(p[7])
		if s := binary.LittleEndian.Uint32(p[8:]); s != 1 {
			t.Fatalf("message stream %d", s)
		}
		p = p[12:]
		extended := at == 0xFFFFFF
		if extended {
			at = binary.BigEndian.Uint32(p)
			p = p[4:]
		}
		var body []byte
		for {
			n := min(size-len(body), rtmp.DefaultChunkSize)
			body = append(body, p[:n]...)
			p = p[n:]
			if len(body) == size {
				break
			}
			if p[0] != 0xC0|id {
				t.Fatalf("a chunk begins with %#x within a message of chunk stream %d", p[0], id)
			}
			p = p[1:]
			if extended {
				if got := binary.BigEndian.Uint32(p); got != at {
					t.Fatalf("extended timestamp %d in a further chunk, %d in the first", got, at)
				}
				p = p[4:]
			}
		}
		tags = append(tags, tag{typ, at, body})
	}
	return tags
}

// unframe joins the payloads of WebSocket messages that a server sent.
func unframe(t testing.TB, p []byte) (all []byte, messages int) {
	t.Helper()
	for len(p) > 0 {
		if p[0] != 0x82 || p[1]&0x80 != 0 {
			t.Fatalf("message header %#x %#x", p[0], p[1])
		}
		n, head := int(p[1]), 2
		switch n {
		case 126:
			n, head = int(binary.BigEndian.Uint16(p[2:])), 4
		case 127:
			n, head = int(binary.BigEndian.Uint64(p[2:])), 10
		}
		all = append(all, p[head:head+n]...)
		p = p[head+n:]
		messages++
	}
	return all, messages
}

// tagsOf returns what a viewer in a form is sent, until its end.
func tagsOf(t testing.TB, form Form, r io.Reader) []tag {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	switch form {
	case FormRTMP:
		return rtmpTags(t, b)
	case FormWebSocket:
		b, _ = unframe(t, b)
	case FormChunked:
		b = unchunk(t, b, false)
	}
	return fileOf(t, b)
}

// Times on both sides of what three bytes hold, and frames on both sides of
// one chunk, in all forms.
func TestForms(t *testing.T) {
	var tags []tag
	at := uint32(0xFFFFFF - 100)
	tags = append(tags, tag{flv.TagScript, 0, []byte("\x02\x00\x0aonMetaData\x05")}, videoConfig(0, 1))
	for i, n := range []int{0, 1, rtmp.DefaultChunkSize - 5, rtmp.DefaultChunkSize - 4, 3 * rtmp.DefaultChunkSize, 100} {
		tags = append(tags, video(at, i == 0, n), audio(at+3, 50))
		at += 40
	}
	for _, form := range []Form{FormFLV, FormRTMP, FormWebSocket, FormChunked} {
		t.Run(form.String(), func(t *testing.T) {
			h := NewHub(HubOptions{})
			defer h.Close()
			p := mustPublish(t, h, "s", PublishOptions{})
			w := newWriter(t, WriterOptions{Merge: 10 * time.Millisecond})
			s, c := pair(t)
			add(t, w, s, p.Stream(), ViewerOptions{Form: form, FromStart: true, Merge: -1, Trailer: trailerOf(form)})
			send(t, p, tags...)
			p.Close()
			b, err := io.ReadAll(c)
			if err != nil {
				t.Fatal(err)
			}
			switch form {
			case FormFLV:
				equalTags(t, fileOf(t, b), tags)
			case FormWebSocket:
				b, n := unframe(t, b)
				equalTags(t, fileOf(t, b), tags)
				if n > len(tags) {
					t.Errorf("%d messages for %d tags", n, len(tags))
				}
			case FormChunked:
				equalTags(t, fileOf(t, unchunk(t, b, true)), tags)
			case FormRTMP:
				equalTags(t, rtmpTags(t, b), tags)
			}
		})
	}
}

// A hub that is closed interrupts its streams: the chunked body has no end, so that
// the client comes back; what was published is there.
func TestChunkedBodyOfAClosedHubHasNoEnd(t *testing.T) {
	h := NewHub(HubOptions{})
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Merge: 10 * time.Millisecond})
	s, c := pair(t)
	add(t, w, s, p.Stream(), ViewerOptions{Form: FormChunked, FromStart: true, Merge: -1, Trailer: trailerOf(FormChunked)})
	tags := []tag{video(0, true, 100), video(40, false, 50)}
	send(t, p, tags...)
	h.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	equalTags(t, fileOf(t, unchunk(t, b, false)), tags)
	if _, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(b))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the body's end is %v, want that of a lost connection", err)
	}
}

// trailerOf is what ends a form.
func trailerOf(f Form) []byte {
	if f == FormChunked {
		return []byte("\r\n0\r\n\r\n")
	}
	return nil
}

// unchunk joins chunks of HTTP/1.1, read by the standard library, and wants
// their end if ended; a body without an end may be cut anywhere.
func unchunk(t testing.TB, p []byte, ended bool) []byte {
	t.Helper()
	all, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(p)))
	if err != nil && (ended || !errors.Is(err, io.ErrUnexpectedEOF)) {
		t.Fatalf("after %d bytes of %d: %v", len(all), len(p), err)
	}
	return all
}

// A viewer that joins a stream in RTMP form gets the headers in chunks too.
func TestGreetingInChunks(t *testing.T) {
	long := tag{flv.TagScript, 0, append([]byte("\x02\x00\x0aonMetaData"), bytes.Repeat([]byte{5}, 2*rtmp.DefaultChunkSize)...)}
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	tags := []tag{long, videoConfig(0, 1), video(1<<24, true, 10), video(1<<24+40, false, 10)}
	send(t, p, tags...)
	s, c := pair(t)
	add(t, w, s, p.Stream(), ViewerOptions{Form: FormRTMP})
	p.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	tags[1].time = 1 << 24
	equalTags(t, rtmpTags(t, b), tags)
}

func TestRawMessages(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Raw: true}})
	defer h.Close()
	p := mustPublish(t, h, "news", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	s, c := pair(t)
	add(t, w, s, p.Stream(), ViewerOptions{Form: FormRaw, FromStart: true, Trailer: []byte("end\n")})
	for _, line := range []string{"one\n", "two\n", "", "three\n"} {
		send(t, p, tag{body: []byte(line)})
	}
	p.Close()
	b, err := io.ReadAll(c)
	if err != nil || string(b) != "one\ntwo\nthree\nend\n" {
		t.Fatalf("%q, %v", b, err)
	}
}

func TestPacketsBeginAtAKeyFrame(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Packets: true}})
	defer h.Close()
	p := mustPublish(t, h, "live/s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	packet := func(typ flv.TagType, key bool, text string) {
		if err := p.Publish(Frame{Type: typ, Key: key, Payload: mem.Wrap([]byte(text), nil)}); err != nil {
			t.Fatal(err)
		}
	}
	packet(flv.TagAudio, false, "a0 ")
	packet(flv.TagVideo, true, "k0 ")
	packet(flv.TagVideo, false, "v1 ")
	packet(flv.TagVideo, true, "k2 ")
	packet(flv.TagAudio, false, "a2 ")
	s, c := pair(t)
	add(t, w, s, p.Stream(), ViewerOptions{Form: FormRaw, Trailer: []byte("bye")})
	next, late := pair(t)
	add(t, w, next, p.Stream(), ViewerOptions{Form: FormRaw, NoGOP: true, Trailer: []byte("bye")})
	waitForPlaces(t, p.Stream())
	packet(flv.TagVideo, false, "v3 ")
	packet(flv.TagVideo, true, "k4 ")
	p.Close()
	for _, one := range []struct {
		conn net.Conn
		want string
	}{{c, "k2 a2 v3 k4 bye"}, {late, "k4 bye"}} {
		if b, err := io.ReadAll(one.conn); err != nil || string(b) != one.want {
			t.Errorf("%q, %v; want %q", b, err, one.want)
		}
	}
}
