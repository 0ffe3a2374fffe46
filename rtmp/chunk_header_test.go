package rtmp

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func TestAppendChunkHeader(t *testing.T) {
	for _, c := range []struct {
		name                        string
		chunkStream, streamID, time uint32
		typ                         MessageType
		length                      int
		first, further              string
	}{
		{"least", 2, 0, 0, TypeSetChunkSize, 4, "02 000000 000004 01 00000000", "c2"},
		{"video", 6, 1, 0x123456, TypeVideo, 0xABCDEF, "06 123456 abcdef 09 01000000", "c6"},
		{"one byte id", 63, 0x04030201, 1, TypeAudio, 0, "3f 000001 000000 08 01020304", "ff"},
		{"two byte id", 64, 1, 1, TypeAudio, 1, "00 00 000001 000001 08 01000000", "c0 00"},
		{"largest of two bytes", 319, 1, 1, TypeAudio, 1, "00 ff 000001 000001 08 01000000", "c0 ff"},
		{"three byte id", 320, 1, 1, TypeAudio, 1, "01 00 01 000001 000001 08 01000000", "c1 00 01"},
		{"largest id", MaxChunkStream, 1, 1, TypeAudio, 1, "01 ff ff 000001 000001 08 01000000", "c1 ff ff"},
		{"last short time", 4, 1, 0xFFFFFE, TypeAudio, 1, "04 fffffe 000001 08 01000000", "c4"},
		{"first extended time", 4, 1, 0xFFFFFF, TypeAudio, 1, "04 ffffff 000001 08 01000000 00ffffff", "c4 00ffffff"},
		{"largest time", 4, 1, 1<<32 - 1, TypeAudio, 1, "04 ffffff 000001 08 01000000 ffffffff", "c4 ffffffff"},
		{"longest", 4, 1, 0, TypeVideo, MaxMessageLength, "04 000000 ffffff 09 01000000", "c4"},
	} {
		prefix := []byte("before")
		got := AppendChunkHeader(prefix, c.chunkStream, c.typ, c.streamID, c.time, c.length)
		if want := append(prefix, chunkHex(t, c.first)...); !bytes.Equal(got, want) {
			t.Errorf("%s: header % x, want % x", c.name, got, want)
		}
		if n := len(got) - len(prefix); n > MaxChunkHeader {
			t.Errorf("%s: header of %d bytes, at most %d", c.name, n, MaxChunkHeader)
		}
		if got, want := AppendContinuation(nil, c.chunkStream, c.time), chunkHex(t, c.further); !bytes.Equal(got, want) {
			t.Errorf("%s: continuation % x, want % x", c.name, got, want)
		}
	}
}

func TestAppendChunkHeaderRefusesWhatCannotBeSaid(t *testing.T) {
	for name, f := range map[string]func(){
		"chunk stream 0":         func() { AppendChunkHeader(nil, 0, TypeAudio, 1, 0, 1) },
		"chunk stream 1":         func() { AppendContinuation(nil, 1, 0) },
		"chunk stream too large": func() { AppendContinuation(nil, MaxChunkStream+1, 0) },
		"length":                 func() { AppendChunkHeader(nil, 4, TypeAudio, 1, 0, MaxMessageLength+1) },
		"negative length":        func() { AppendChunkHeader(nil, 4, TypeAudio, 1, 0, -1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// chunkHex reads bytes that are written in hexadecimal, with spaces.
func chunkHex(t testing.TB, s string) []byte {
	t.Helper()
	p, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(s), []byte(" "), nil)))
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return p
}
