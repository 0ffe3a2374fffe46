package web

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/sluice-go/sluice"
)

// maskedFrame is a frame as a client sends it.
func maskedFrame(head byte, payload string) []byte {
	f := []byte{head}
	switch n := len(payload); {
	case n < 126:
		f = append(f, 0x80|byte(n))
	case n < 1<<16:
		f = binary.BigEndian.AppendUint16(append(f, 0x80|126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 0x80|127), uint64(n))
	}
	mask := [4]byte{0x12, 0x34, 0x56, 0x78}
	f = append(f, mask[:]...)
	for i := range len(payload) {
		f = append(f, payload[i]^mask[i%4])
	}
	return f
}

func TestClientFrames(t *testing.T) {
	var stream []byte
	payloads := []string{"", "x", strings.Repeat("p", 125), strings.Repeat("q", 126), strings.Repeat("r", maxClientFrame)}
	for i, p := range payloads {
		stream = append(stream, maskedFrame([]byte{0x89, 0x8a, 0x88, 0x82, 0x01}[i], p)...)
	}
	for name, r := range map[string]io.Reader{"whole": bytes.NewReader(stream), "bytes": iotest.OneByteReader(bytes.NewReader(stream))} {
		b := clientFrames{BufReader: sluice.NewBufReader(r)}
		for i, want := range payloads {
			opcode, payload, err := b.next()
			if err != nil || string(payload) != want || opcode != []int{9, 10, 8, 2, 1}[i] {
				t.Errorf("%s: frame %d: opcode %d, %d bytes, %v", name, i, opcode, len(payload), err)
			}
		}
		if _, _, err := b.next(); err != io.EOF {
			t.Errorf("%s: ends with %v", name, err)
		}
	}
	for name, f := range map[string][]byte{
		"not masked":     {0x82, 0x00},
		"reserved":       maskedFrame(0xc2, "x"),
		"opcode 3":       maskedFrame(0x83, "x"),
		"opcode 11":      maskedFrame(0x8b, ""),
		"continues none": maskedFrame(0x80, "x"),
		"message inside": append(maskedFrame(0x02, "x"), maskedFrame(0x82, "y")...),
		"cut ping":       maskedFrame(0x09, "x"),
		"long ping":      maskedFrame(0x89, strings.Repeat("x", 126)),
		"long":           maskedFrame(0x82, strings.Repeat("x", maxClientFrame+1)),
		"very long":      maskedFrame(0x82, strings.Repeat("x", 1<<16)),
		"longer than it": {0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
	} {
		frames := clientFrames{BufReader: sluice.NewBufReader(bytes.NewReader(f))}
		_, _, err := frames.next()
		for err == nil {
			_, _, err = frames.next()
		}
		if !errors.Is(err, errWebSocket) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzClientFrame(f *testing.F) {
	f.Add(maskedFrame(0x89, "ping"))
	f.Add(maskedFrame(0x82, strings.Repeat("x", 200)))
	f.Add([]byte{0x88, 0x80, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, p []byte) {
		r := clientFrames{BufReader: sluice.NewBufReader(bytes.NewReader(p))}
		for {
			opcode, payload, err := r.next()
			if err != nil {
				return
			}
			if opcode < 0 || opcode > 15 || len(payload) > maxClientFrame || opcode >= 8 && len(payload) > 125 {
				t.Errorf("opcode %d with %d bytes", opcode, len(payload))
			}
		}
	})
}

// A reason that is too long for a close frame, with the name of a stream in it, is cut between characters: browsers
// take one that is no UTF-8 for a broken connection.
func TestReasonsOfCloseFramesAreText(t *testing.T) {
	for n := range 4 {
		p := closeFrame(websocket.CloseTryAgainLater, strings.Repeat("x", n)+strings.Repeat("\u20ac", 100))
		if reason := p[4:]; len(p) > 2+125 || len(reason) < 120 || !utf8.Valid(reason) {
			t.Errorf("a frame of %d bytes, %q", len(p), reason)
		}
	}
}
