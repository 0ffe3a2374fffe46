package live

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/flv"
)

// readFLV returns what comes from a connection as tags, after what stands
// before the file.
func readFLV(t *testing.T, c net.Conn, prelude string) <-chan tag {
	t.Helper()
	tags := make(chan tag, 1000)
	go func() {
		defer close(tags)
		head := make([]byte, len(prelude)+13)
		if _, err := io.ReadFull(c, head); err != nil || string(head[:len(prelude)]) != prelude || string(head[len(prelude):][:3]) != "FLV" {
			t.Errorf("begins with %q, %v", head, err)
			return
		}
		var rest []byte
		b := make([]byte, 1<<16)
		for {
			n, err := c.Read(b)
			var got []tag
			got, rest = readTags(append(rest, b[:n]...))
			for _, g := range got {
				g.body = bytes.Clone(g.body)
				tags <- g
			}
			rest = bytes.Clone(rest)
			if err != nil {
				return
			}
		}
	}()
	return tags
}

func expect(t *testing.T, tags <-chan tag, want ...tag) {
	t.Helper()
	for _, g := range want {
		select {
		case got, ok := <-tags:
			if !ok || !got.equal(g) {
				t.Fatalf("got %v at %d of %d bytes, want %v at %d of %d", got.typ, got.time, len(got.body), g.typ, g.time, len(g.body))
			}
		case <-time.After(eventTimeout):
			t.Fatalf("no %v at %d", g.typ, g.time)
		}
	}
}

// Where video has stopped and audio goes on, a viewer has the headers at once,
// audio from now on, and video from its next key frame on.
func TestJoinWithoutAKeyFrame(t *testing.T) {
	h := NewHub(HubOptions{Stream: StreamOptions{GOPTime: time.Millisecond, Backlog: time.Millisecond}})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	sound := tag{8, 0, []byte{0xAF, 0, 1, 2}}
	send(t, p, videoConfig(0, 1), sound, video(0, true, 10))
	<-time.After(5 * time.Millisecond) // so that the key frame is too old to keep
	send(t, p, audio(10, 5))
	s := p.Stream()
	s.mu.Lock()
	s.options.GOPTime, s.options.Backlog = time.Hour, time.Hour // what comes now is kept
	s.mu.Unlock()

	conn, c := pair(t)
	add(t, w, conn, p.Stream(), ViewerOptions{Prelude: []byte("HTTP/1.1 200 OK\r\n\r\n")})
	tags := readFLV(t, c, "HTTP/1.1 200 OK\r\n\r\n")
	config := videoConfig(10, 1)
	sound.time = 10
	expect(t, tags, config, sound)
	send(t, p, audio(20, 5), video(30, false, 10), audio(40, 5), video(50, true, 10), video(60, false, 10), audio(70, 5))
	expect(t, tags, audio(20, 5), audio(40, 5), video(50, true, 10), video(60, false, 10), audio(70, 5))
}

// A key frame without a picture, as some encoders send, is no place to begin at.
func TestJoinBehindAnEmptyKeyFrame(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	empty := tag{9, 20, []byte{0x17, 1, 0, 0, 0}}
	send(t, p, videoConfig(0, 1), video(0, true, 10), video(10, false, 10), empty, video(30, false, 10))
	conn, c := pair(t)
	add(t, w, conn, p.Stream(), ViewerOptions{})
	expect(t, readFLV(t, c, ""), videoConfig(0, 1), video(0, true, 10), video(10, false, 10), empty, video(30, false, 10))
}

// The status line comes although there is no frame at all yet.
func TestPreludeDoesNotWait(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	conn, c := pair(t)
	add(t, w, conn, p.Stream(), ViewerOptions{Prelude: []byte("hello")})
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Fatalf("%q, %v", b, err)
	}
	send(t, p, videoConfig(0, 1), video(0, true, 10))
	tags := readFLV(t, c, "")
	expect(t, tags, videoConfig(0, 1), video(0, true, 10))
}

// A viewer who joins late has a header for each track.
func TestJoinWithSeveralTracks(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	// Enhanced RTMP: multitrack, one track a packet, hvc1 and Opus.
	picture := func(at uint32, packet, track byte, key bool, rest ...byte) tag {
		first := byte(0x80 | 2<<4 | 6)
		if key {
			first = 0x80 | 1<<4 | 6
		}
		b := append([]byte{first, packet}, "hvc1"...)
		return tag{9, at, append(append(b, track), rest...)}
	}
	soundOf := func(at uint32, packet, track byte, rest ...byte) tag {
		b := append([]byte{9<<4 | 5, packet}, "Opus"...)
		return tag{8, at, append(append(b, track), rest...)}
	}
	headers := []tag{
		picture(0, 0, 0, true, 1, 1, 1), picture(0, 0, 1, true, 2, 2, 2), picture(0, 0, 2, true, 3, 3, 3),
		soundOf(0, 0, 0, 4, 4), soundOf(0, 0, 1, 5, 5),
	}
	send(t, p, headers...)
	send(t, p, picture(0, 3, 0, true, 9), picture(0, 3, 1, true, 9), picture(0, 3, 2, true, 9), soundOf(0, 1, 1, 8))
	again := picture(40, 0, 1, true, 6, 6, 6) // track 1 changes
	send(t, p, again, picture(80, 3, 0, true, 7), picture(80, 3, 1, true, 7))

	conn, c := pair(t)
	add(t, w, conn, p.Stream(), ViewerOptions{})
	tags := readFLV(t, c, "")
	at := func(g tag) tag { g.time = 80; return g }
	expect(t, tags, at(headers[0]), at(again), at(headers[2]), at(headers[3]), at(headers[4]), picture(80, 3, 0, true, 7), picture(80, 3, 1, true, 7))
	st := p.Stream().Stats()
	if !bytes.Equal(st.VideoConfig, headers[0].body) || !bytes.Equal(st.AudioConfig, headers[3].body) {
		t.Errorf("the figures name another track's headers: %x, %x", st.VideoConfig, st.AudioConfig)
	}
	if st.GOPFrames != 1 {
		t.Errorf("%d pictures in a group of one in each track", st.GOPFrames)
	}
}

// A late joiner gets the positions of the loudspeakers and the meaning of the colours, as a
// viewer does that was there from the beginning.
func TestJoinAfterDescriptions(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	picture := tag{flv.TagVideo, 0, []byte("\x90hvc1\x01")}
	colours := tag{flv.TagVideo, 0, []byte("\xd4hvc1\x02\x00\x09colorInfo")}
	sound := tag{flv.TagAudio, 0, []byte("\x90Opus\x01")}
	loudspeakers := tag{flv.TagAudio, 0, []byte("\x94Opus\x01\x06\x00\x00\x00\x3f")}
	key := func(at uint32) tag { return tag{flv.TagVideo, at, []byte("\x93hvc1\x26")} }
	send(t, p, picture, colours, sound, loudspeakers, key(0), tag{flv.TagAudio, 5, []byte("\x91Opus\xfc")}, key(40))
	conn, c := pair(t)
	add(t, w, conn, p.Stream(), ViewerOptions{})
	tags := readFLV(t, c, "")
	at := func(g tag) tag { g.time = 40; return g }
	expect(t, tags, at(picture), at(colours), at(sound), at(loudspeakers), key(40))
}

func data(at uint32, n int) tag {
	return tag{flv.TagScript, at, append([]byte("\x02\x00\x06onText"), make([]byte, n)...)}
}

// A stream of data messages alone is one to watch: who joins has the headers and what comes
// from then on. Pictures that begin later begin with a key frame, and sound goes on beside
// the data.
func TestJoinAStreamOfDataAlone(t *testing.T) {
	for _, form := range []Form{FormFLV, FormRTMP, FormWebSocket, FormChunked} {
		t.Run(form.String(), func(t *testing.T) {
			h := NewHub(HubOptions{})
			defer h.Close()
			p := mustPublish(t, h, "s", PublishOptions{})
			w := newWriter(t, WriterOptions{})
			meta := tag{flv.TagScript, 0, []byte("\x02\x00\x0aonMetaData\x05")}
			join := func() (*Viewer, net.Conn) {
				conn, peer := pair(t)
				v := add(t, w, conn, p.Stream(), ViewerOptions{Form: form})
				waitForPlaces(t, p.Stream())
				return v, peer
			}
			v, early := join()
			send(t, p, meta, data(10, 3), data(20, 4))
			for end := time.Now().Add(eventTimeout); !v.figures.joined.Load(); runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatal("who was there before gets nothing")
				}
			}
			_, late := join()
			rest := []tag{data(30, 5), audio(40, 6), data(50, 7), videoConfig(60, 1), audio(70, 6), video(80, true, 9), video(90, false, 9)}
			send(t, p, rest[:4]...)
			send(t, p, video(65, false, 8)) // of no use without a key frame
			send(t, p, rest[4:]...)
			p.Close()
			equalTags(t, tagsOf(t, form, early), append([]tag{meta, data(10, 3), data(20, 4)}, rest...))
			equalTags(t, tagsOf(t, form, late), append([]tag{meta}, rest...))
		})
	}
}

// A viewer who pauses in a stream of data alone goes on with what comes.
func TestPauseInAStreamOfDataAlone(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	w := newWriter(t, WriterOptions{})
	send(t, p, data(0, 1))
	conn, c := pair(t)
	v := add(t, w, conn, p.Stream(), ViewerOptions{})
	tags := readFLV(t, c, "")
	waitForPlaces(t, p.Stream())
	send(t, p, data(10, 2))
	expect(t, tags, data(10, 2))
	v.Pause(true)
	v.Pause(false)
	mark := data(15, 1)
	file := append(flv.TagHeader{Type: mark.typ, Size: len(mark.body), Time: mark.time}.Append(nil), mark.body...)
	file = binary.BigEndian.AppendUint32(file, uint32(len(file)))
	for range 2 { // before the second the viewer has found its place
		if err := v.Control(file); err != nil {
			t.Fatal(err)
		}
		expect(t, tags, mark)
	}
	send(t, p, data(20, 3))
	expect(t, tags, data(20, 3))
}

// Sound that goes on in a codec without a sequence header leaves none behind: who comes then
// would wait for sound of the codec before.
func TestHeaderOfAnotherCodecIsForgotten(t *testing.T) {
	h := NewHub(HubOptions{})
	defer h.Close()
	p := mustPublish(t, h, "s", PublishOptions{})
	sound := func(body string) tag { return tag{flv.TagAudio, 0, []byte(body)} }
	headers := func() (list []string) {
		p.Stream().Headers(func(typ flv.TagType, body []byte) { list = append(list, string(body)) })
		return list
	}
	// AC-3 with the loudspeakers of six channels and of two.
	ac3, six, two := "\x90ac-3", "\x94ac-3\x01\x06\x00\x00\x00\x3f", "\x94ac-3\x01\x02\x00\x00\x00\x03"
	aac, opus, second := "\xaf\x00\x12\x10", "\x90OpusOpusHead", "\x95\x00Opus\x01OpusHead"
	for i, c := range []struct {
		body string
		want []string
	}{
		{aac, []string{aac}},
		{"\xaf\x01\x21", []string{aac}},
		{second, []string{aac, second}},
		{"\x91mp4a\x21", []string{aac, second}}, // the same in the other form
		{"\x2fmp3", []string{second}},
		{"\xaf\x01\x21", []string{second}},
		{aac, []string{aac, second}},
		{opus, []string{opus, second}},
		{"\x91Opus\xfc", []string{opus, second}},
		{"", []string{opus, second}},
		{"\x95\x01ac-3\x01\x0b", []string{opus}},
		{"\x91ac-3\x0b", nil},
		{six, []string{six}},
		{ac3, []string{ac3, six}},
		{two, []string{ac3, two}},
		{"\x91ac-3\x0b", []string{ac3, two}},
		{opus, []string{opus}}, // whose loudspeakers are not those of AC-3
		{"\x94Opus\x01\x06\x00\x00\x00\x3f", []string{opus, "\x94Opus\x01\x06\x00\x00\x00\x3f"}},
		{"\x2fmp3", nil},
	} {
		send(t, p, sound(c.body))
		if got := headers(); !slices.Equal(got, c.want) {
			t.Errorf("after %d: %q, want %q", i, got, c.want)
		}
	}
}
