package live

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
)

// Control bytes stand between messages, also when a message has been cut short
// by a full socket.
func TestControlStandsBetweenMessages(t *testing.T) {
	mark := bytes.Repeat([]byte{0xEE}, 20)
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	conn, c := pair(t)
	conn.SetWriteBuffer(16 << 10)
	v := add(t, w, conn, p.Stream(), ViewerOptions{FromStart: true})
	var sent []tag
	file := make([]byte, 13)
	for i := range 60 {
		g := video(uint32(i)*40, i == 0, 30<<10)
		sent = append(sent, g)
		send(t, p, g)
		if i == 0 { // what is sent before the first frame stands before the greeting
			if _, err := io.ReadFull(c, file); err != nil {
				t.Fatal(err)
			}
		}
		if err := v.Control(mark); err != nil {
			t.Fatal(err)
		}
	}
	p.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	marks := 0
	for len(b) > 0 {
		if bytes.HasPrefix(b, mark) {
			marks++
			b = b[len(mark):]
			continue
		}
		n := 15 + (int(b[1])<<16 | int(b[2])<<8 | int(b[3]))
		if n > len(b) {
			t.Fatalf("a tag of %d bytes, of which %d came", n, len(b))
		}
		file, b = append(file, b[:n]...), b[n:]
	}
	equalTags(t, fileOf(t, file), sent)
	if marks != 60 {
		t.Errorf("%d of 60 control messages", marks)
	}
}

func TestControlFlood(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Control: 100})
	conn, _ := pair(t)
	v := add(t, w, conn, p.Stream(), ViewerOptions{})
	if err := v.Control(make([]byte, 101)); !errors.Is(err, ErrControl) {
		t.Fatalf("%v", err)
	}
	waitFor(t, v.Done(), "end of the viewer")
	if err := v.Control([]byte("x")); !errors.Is(err, ErrClosed) || !errors.Is(v.Err(), ErrControl) {
		t.Errorf("%v, %v", err, v.Err())
	}
}

func TestPause(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	conn, c := pair(t)
	v := add(t, w, conn, p.Stream(), ViewerOptions{FromStart: true})
	send(t, p, video(0, true, 10))
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	const size = 11 + 15 + 4
	read(13 + size)
	v.Pause(true)
	if err := v.Control([]byte("paused")); err != nil {
		t.Fatal(err)
	}
	if got := read(6); string(got) != "paused" {
		t.Fatalf("%q", got)
	}
	send(t, p, video(40, false, 10), video(80, true, 10), video(120, false, 10))
	v.Control([]byte("still"))
	if got := read(5); string(got) != "still" {
		t.Fatalf("%q while it is paused", got)
	}
	v.Pause(false)
	tags, _ := readTags(read(2 * size))
	equalTags(t, tags, []tag{video(80, true, 10), video(120, false, 10)})
	v.Pause(true)
	v.Pause(false)
	tags, _ = readTags(read(2 * size))
	equalTags(t, tags, []tag{video(80, true, 10), video(120, false, 10)})
	if st := v.Stats(); st.Jumps != 0 || st.Dropped != 0 {
		t.Errorf("a pause counts as slowness: %+v", st)
	}
	v.Close(errors.New("kicked"))
	waitFor(t, v.Done(), "end of the viewer")
	if v.Err().Error() != "kicked" {
		t.Errorf("closed for %v", v.Err())
	}
	if b, err := io.ReadAll(c); len(b) > 0 {
		t.Errorf("%d bytes after Close, %v", len(b), err)
	}
}

func TestNoGOPHasSoundBeforeTheNextKeyFrame(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	send(t, p, videoConfig(0, 7), video(0, true, 10), audio(10, 5))
	conn, c := pair(t)
	add(t, w, conn, p.Stream(), ViewerOptions{NoGOP: true})
	send(t, p, video(40, false, 10), audio(50, 5), video(80, true, 10), audio(90, 5))
	p.Close()
	got := fileTags(t, c)
	if len(got) == 0 || !bytes.Equal(got[0].body, videoConfig(0, 7).body) {
		t.Fatalf("begins with %v", got)
	}
	equalTags(t, got[1:], []tag{audio(50, 5), video(80, true, 10), audio(90, 5)})
}

func TestSoundAloneBeginsAtOnce(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	send(t, p, tag{8, 0, []byte{0xAF, 0, 1, 2}}, audio(0, 5), audio(23, 5))
	conn, c := pair(t)
	add(t, w, conn, p.Stream(), ViewerOptions{})
	p.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if b[4] != 4 {
		t.Errorf("the header's flags are %d", b[4])
	}
	equalTags(t, fileOf(t, b), []tag{{8, 23, []byte{0xAF, 0, 1, 2}}, audio(23, 5)})
}

func TestShutdown(t *testing.T) {
	h := NewHub(HubOptions{})
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{Merge: time.Hour})
	conn, c := pair(t)
	v := add(t, w, conn, p.Stream(), ViewerOptions{FromStart: true, Merge: -1})
	send(t, p, video(0, true, 10))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	h.Close()
	if err := w.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	equalTags(t, fileTags(t, c), []tag{video(0, true, 10)})
	if !errors.Is(v.Err(), ErrEnded) {
		t.Errorf("closed for %v", v.Err())
	}

	h = NewHub(HubOptions{})
	defer h.Close()
	w = newWriter(t, WriterOptions{})
	conn, _ = pair(t)
	v = add(t, w, conn, mustPublish(t, h, "s", PublishOptions{}).Stream(), ViewerOptions{})
	if err := w.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	if !errors.Is(v.Err(), ErrClosed) {
		t.Errorf("closed for %v", v.Err())
	}
	if _, err := w.Add(conn, p.Stream(), ViewerOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Add after Shutdown: %v", err)
	}
}

// A viewer who leaves while nothing is published is closed at once, whatever its
// connection is and though nothing reads from it. One who says something stays.
func TestUnreadViewersWhoLeave(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	for _, kind := range []string{"close", "half", "reset", "tls", "wire", "pipe"} {
		var viewer, end net.Conn
		if kind == "pipe" {
			viewer, end = net.Pipe()
		} else {
			s, c := pair(t)
			viewer, end = s, c
			if kind == "tls" {
				viewer, end = tlsPair(t, s, c)
			}
			if kind == "wire" {
				viewer, end = wirePair(t, s, c)
			}
		}
		v := add(t, w, viewer, p.Stream(), ViewerOptions{Unread: true})
		if kind == "close" {
			if _, err := end.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
		}
		if v.Err() != nil {
			t.Errorf("%s: closed before it left: %v", kind, v.Err())
		}
		began := time.Now()
		switch c := end.(type) {
		case *net.TCPConn:
			if kind == "half" {
				c.CloseWrite()
				break
			}
			if kind == "reset" {
				c.SetLinger(0)
			}
			c.Close()
		default:
			end.Close()
		}
		waitFor(t, v.Done(), "end of the viewer: "+kind)
		if !errors.Is(v.Err(), ErrGone) {
			t.Errorf("%s: closed for %v", kind, v.Err())
		}
		if d := time.Since(began); d > w.options.Stall/2 { // so it is not for want of progress
			t.Errorf("%s: it took %v", kind, d)
		}
	}
}

// Packets have numbers, which do not go back: who has paused goes on behind what it had, or at a key frame behind that.
func TestPauseInAStreamOfPackets(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{Packets: true}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	packet := func(typ flv.TagType, key bool, text string) {
		t.Helper()
		if err := p.Publish(Frame{Type: typ, Key: key, Payload: mem.Wrap([]byte(text), nil)}); err != nil {
			t.Fatal(err)
		}
	}
	conn, c := pair(t)
	v := add(t, newWriter(t, WriterOptions{}), conn, p.Stream(), ViewerOptions{Form: FormRaw})
	get := func(want string) {
		t.Helper()
		b := make([]byte, len(want))
		if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
			t.Fatalf("%q, %v, want %q", b, err, want)
		}
	}
	paused := func() {
		t.Helper()
		v.Pause(true)
		v.Control([]byte("paused "))
		get("paused ")
	}
	waitForPlaces(t, p.Stream())
	packet(flv.TagVideo, true, "k0 ")
	packet(flv.TagVideo, false, "v1 ")
	get("k0 v1 ")
	paused()
	packet(flv.TagVideo, false, "v2 ")
	v.Pause(false)
	get("v2 ")
	v.Pause(true)
	v.Pause(false)
	packet(flv.TagVideo, false, "v3 ")
	get("v3 ")
	paused()
	packet(flv.TagVideo, false, "v4 ")
	packet(flv.TagVideo, true, "k5 ")
	v.Pause(false)
	get("k5 ")
}
