// Package flvtest is FLV for the tests of the relay's packages: tags that compare,
// and a reader that shares nothing with the code under test.
package flvtest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// Tag is a tag as tests compare it.
type Tag struct {
	Type    flv.TagType
	Time    uint32
	Payload string
}

func (g Tag) Append(p []byte) []byte {
	p = flv.TagHeader{Type: g.Type, Size: len(g.Payload), Time: g.Time}.Append(p)
	p = append(p, g.Payload...)
	n := flv.TagHeaderLen + len(g.Payload)
	return append(p, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// Tags parses a file.
func Tags(t *testing.T, file []byte) []Tag {
	t.Helper()
	r := NewReader(bytes.NewReader(file))
	var tags []Tag
	for {
		g, err := r.Next()
		if err == io.EOF {
			return tags
		}
		if err != nil {
			t.Fatal(err)
		}
		tags = append(tags, g)
	}
}

// Clip is the clip's tags.
func Clip(t *testing.T) []Tag { return Tags(t, flvclip.File) }

// Reader is a strict FLV reader that does not use the code under test.
type Reader struct {
	r     io.Reader
	begun bool
}

func (f *Reader) Next() (Tag, error) {
	if !f.begun {
		var h [13]byte
		if _, err := io.ReadFull(f.r, h[:]); err != nil {
			return Tag{}, err
		}
		if string(h[:3]) != "FLV" {
			return Tag{}, fmt.Errorf("not FLV: %q", h)
		}
		f.begun = true
	}
	var h [11]byte
	if _, err := io.ReadFull(f.r, h[:]); err != nil {
		return Tag{}, err
	}
	body := make([]byte, int(h[1])<<16|int(h[2])<<8|int(h[3])+4)
	if _, err := io.ReadFull(f.r, body); err != nil {
		return Tag{}, io.ErrUnexpectedEOF
	}
	n := len(body) - 4
	if size := int(body[n])<<24 | int(body[n+1])<<16 | int(body[n+2])<<8 | int(body[n+3]); size != n+11 {
		return Tag{}, fmt.Errorf("a tag of %d bytes ends with size %d", n+11, size)
	}
	return Tag{flv.TagType(h[0]), uint32(h[4])<<16 | uint32(h[5])<<8 | uint32(h[6]) | uint32(h[7])<<24, string(body[:n])}, nil
}

// Header is the head of a file, with the size behind it.
var Header = append(flv.Header{Audio: true, Video: true}.Append(nil), 0, 0, 0, 0)

// Chunked encodes parts as chunks, with an extension and a trailer.
func Chunked(parts ...[]byte) []byte {
	var b bytes.Buffer
	for i, p := range parts {
		if len(p) > 0 {
			fmt.Fprintf(&b, []string{"%x\r\n", "%X;name=\"v\"\r\n", "%04x \r\n", "%x\n"}[i%4], len(p))
			b.Write(p)
			b.WriteString("\r\n")
		}
	}
	b.WriteString("0\r\nTrailer: x\r\n\r\nNEXT")
	return b.Bytes()
}

// NewReader reads FLV off r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Sizes is a short file whose tags have sizes around those of headers.
func Sizes() (file []byte, tags []Tag) {
	file = append([]byte(nil), Header...)
	for i, n := range []int{0, 1, 3, 11, 15, 40, 0, 7} {
		g := Tag{Type: []flv.TagType{flv.TagVideo, flv.TagAudio, flv.TagScript}[i%3], Time: uint32(i) << 22, Payload: strings.Repeat(string(rune('a'+i)), n)}
		tags = append(tags, g)
		file = g.Append(file)
	}
	return file, tags
}
