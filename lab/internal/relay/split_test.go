package relay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/sluicetest"
)

// heard writes down what a splitter finds.
type heard struct {
	media, notes []string
	head         string
	payload      []byte
}

func (h *heard) started(kind uint8, time uint32, size int, first, second byte) error {
	h.head = fmt.Sprintf("%d %d %d %x %x", kind, time, size, first, second)
	return nil
}

func (h *heard) passed(p []byte) error {
	h.payload = append(h.payload, p...)
	return nil
}

func (h *heard) ended() error {
	h.media = append(h.media, fmt.Sprintf("%s %x", h.head, h.payload))
	h.payload = nil
	return nil
}

func (h *heard) noted(kind uint8, payload []byte) error {
	h.notes = append(h.notes, fmt.Sprintf("%d %x", kind, payload))
	return nil
}

// someMedia are messages of all kinds, in sizes around those of chunks.
func someMedia(r *rand.Rand) (kinds []uint8, times []uint32, payloads [][]byte) {
	time := uint32(0)
	for _, size := range []int{2, 3, 127, 128, 129, 256, 257, 1000, 70_000} {
		p := make([]byte, size)
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		kinds = append(kinds, []uint8{kindVideo, kindAudio, kindScript}[r.IntN(3)])
		if size > mostNoted {
			kinds[len(kinds)-1] = kindVideo
		}
		time += uint32(r.IntN(50))
		if size == 1000 {
			time = 0x01234567 // needs more than 24 bits
		}
		times, payloads = append(times, time), append(payloads, p)
	}
	return kinds, times, payloads
}

// wanted is what a splitter should find of them.
func wanted(kinds []uint8, times []uint32, payloads [][]byte) *heard {
	h := &heard{}
	for i, p := range payloads {
		if isMedia(kinds[i]) {
			h.started(kinds[i], times[i], len(p), p[0], p[1])
			h.passed(p)
			h.ended()
		} else {
			h.noted(kinds[i], p)
		}
	}
	return h
}

// feedCut feeds stream in random pieces.
func feedCut(s splitter, stream []byte, r *rand.Rand, h *heard) error {
	longest := []int{1, 3, 50, 5000, 1 << 20}[r.IntN(5)]
	for len(stream) > 0 {
		n := min(len(stream), 1+r.IntN(longest))
		// A copy: what was fed may be gone afterwards.
		if err := s.feed(bytes.Clone(stream[:n]), h); err != nil {
			return err
		}
		stream = stream[n:]
	}
	return nil
}

func TestSplittersFindTheSameInEveryChunking(t *testing.T) {
	seed := sluicetest.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		kinds, times, payloads := someMedia(r)
		want := wanted(kinds, times, payloads)
		limit := []int{2, 128, 4096, 1 << 20}[r.IntN(4)]
		chunks := appendControl(nil, kindChunkSize, uint32(limit))
		want.notes = append([]string{fmt.Sprintf("%d %08x", kindChunkSize, limit)}, want.notes...)
		file := []byte("HTTP/1.1 200 OK\r\nServer: test\r\n\r\n" + flvStart)
		for i, p := range payloads {
			chunks = appendMessage(chunks, kinds[i], streamID, times[i], p, limit)
			file = appendTag(file, kinds[i], times[i], p)
		}

		rtmp, got := newRTMPSplit(), &heard{}
		rtmp.look = true
		if err := feedCut(rtmp, chunks, r, got); err != nil {
			t.Fatal(err)
		}
		same(t, got, want)

		want.notes = want.notes[1:]
		flv, got := newFLVSplit(), &heard{}
		flv.look = true
		if err := feedCut(flv, file, r, got); err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
	}
}

func same(t *testing.T, got, want *heard) {
	t.Helper()
	for _, c := range []struct{ got, want []string }{{got.media, want.media}, {got.notes, want.notes}} {
		if g, w := strings.Join(c.got, "\n"), strings.Join(c.want, "\n"); g != w {
			t.Fatalf("got %d messages, want %d\n%.300s\n---\n%.300s", len(c.got), len(c.want), g, w)
		}
	}
}

// TestChunksMayLeaveOutWhatIsAsBefore goes through formats 1, 2 and 3, and a
// control message between the chunks of another (RTMP 1.0, 5.3.1.2).
func TestChunksMayLeaveOutWhatIsAsBefore(t *testing.T) {
	body := bytes.Repeat([]byte{0x27, 1}, 100)
	stream := appendMessage(nil, kindVideo, streamID, 1000, body[:4], 128)
	add := func(parts ...[]byte) { stream = append(stream, bytes.Join(parts, nil)...) }
	add([]byte{1<<6 | videoChunks, 0, 0, 33, 0, 0, 6, kindVideo}, body[:6])    // 33 ms later, 6 bytes
	add([]byte{2<<6 | videoChunks, 0, 0, 34}, body[:6])                        // 34 ms later, as long
	add([]byte{3<<6 | videoChunks}, body[:6])                                  // the same again
	add([]byte{1<<6 | videoChunks, 0, 0, 1, 0, 0, 200, kindVideo}, body[:128]) // the first of two chunks
	add(appendEvent(nil, eventPing, 7))
	add([]byte{3<<6 | videoChunks}, body[128:])
	add([]byte{1<<6 | videoChunks, 0xFF, 0xFF, 0xFF, 0, 0, 2, kindVideo, 1, 0, 0, 0}, body[:2]) // far later
	want := &heard{notes: []string{"4 000600000007"}}
	for _, m := range []struct {
		time uint32
		size int
	}{{1000, 4}, {1033, 6}, {1067, 6}, {1101, 6}, {1102, 200}, {1102 + 1<<24, 2}} {
		want.started(kindVideo, m.time, m.size, 0x27, 1)
		want.passed(body[:m.size])
		want.ended()
	}
	for size := range 7 {
		r, got := newRTMPSplit(), &heard{}
		r.look = true
		for p := range chunked(stream, 1+size*size*size) {
			if err := r.feed(p, got); err != nil {
				t.Fatal(err)
			}
		}
		same(t, got, want)
	}
}

func chunked(p []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(p) > 0 {
			n := min(size, len(p))
			if !yield(p[:n]) {
				return
			}
			p = p[n:]
		}
	}
}

func TestWhatIsNoStreamIsRefused(t *testing.T) {
	flv := func(head, body string) splitter { return fedOnce{newFLVSplit(), head + body} }
	rtmp := func(p ...byte) splitter { return fedOnce{newRTMPSplit(), string(p)} }
	for name, s := range map[string]splitter{
		"not found":            flv("HTTP/1.1 404 Not Found\r\n\r\n", ""),
		"chunked":              flv("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ""),
		"no file":              flv("HTTP/1.1 200 OK\r\n\r\n", "<html></html>"),
		"endless header":       flv(strings.Repeat("x", mostHead), ""),
		"long script":          flv("HTTP/1.1 200 OK\r\n\r\n", flvStart+"\x12\xFF\xFF\xFF\x00\x00\x00\x00\x00\x00\x00"),
		"big chunk stream":     rtmp(0, 5, 0, 0, 0),
		"nothing to refer to":  rtmp(3<<6 | 5),
		"begins in the middle": rtmp(append(appendMessage(nil, kindVideo, 1, 0, make([]byte, 200), 1000)[:140], 6, 0, 0, 0, 0, 0, 9, 9, 0, 0, 0, 0)...),
		"media within media":   rtmp(append(appendMessage(nil, kindVideo, 1, 0, make([]byte, 200), 128)[:140], appendMessage(nil, kindAudio, 1, 0, make([]byte, 9), 128)...)...),
		"no chunks":            rtmp(appendControl(nil, kindChunkSize, 0)...),
		"long command":         rtmp(appendMessage(nil, kindCommand, 0, 0, make([]byte, mostNoted+1), 128)...),
	} {
		if err := s.feed(nil, &heard{}); !errors.Is(err, ErrStream) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fedOnce feeds a fixed stream.
type fedOnce struct {
	splitter
	stream string
}

func (f fedOnce) feed(_ []byte, to sink) error {
	if err := f.splitter.feed([]byte(f.stream), to); err != nil {
		return err
	}
	return io.EOF
}

// FuzzSplitters wants no panic and no memory beyond what came.
func FuzzSplitters(f *testing.F) {
	f.Add([]byte(flvStart), uint8(0))
	f.Add(appendMessage(nil, kindVideo, 1, 70_000, bytes.Repeat([]byte{0x17}, 300), 128), uint8(1))
	f.Add(appendControl(nil, kindChunkSize, 4096), uint8(3))
	f.Add(binary.BigEndian.AppendUint32([]byte{5, 0xFF, 0xFF, 0xFF, 0, 0, 4, 9, 1, 0, 0, 0}, 1<<30), uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		body := newFLVSplit()
		body.body = true
		for _, s := range []splitter{newRTMPSplit(), body} {
			for p := range chunked(stream, 1+int(size)) {
				if s.feed(p, &heard{}) != nil {
					break
				}
			}
		}
	})
}
