package flvwalk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// Types of tags.
const (
	Audio  = 8
	Video  = 9
	Script = 18
)

const (
	headSize  = 9 // of the file, the size of the tag before the first follows
	tagHead   = 11
	tagTail   = 4
	maxData   = 1<<24 - 1
	typeMask  = 0x1f // above it are a reserved bit and the one for encrypted tags
	HasAudio  = 1 << 2
	HasVideo  = 1
	signature = "FLV\x01"
)

// ErrFormat is matched by the error for a stream that is not FLV.
var ErrFormat = errors.New("flvwalk: not FLV")

// Tag is one tag of a stream.
type Tag struct {
	Type byte   // Audio, Video or Script
	Time uint32 // ms
	Data []byte // without head and tail
}

// Walker reads tags.
type Walker struct {
	r     *sluice.BufReader
	flags byte
	begun bool
}

// New returns a walker of what r has, which begins with the file's header.
func New(r *sluice.BufReader) *Walker { return &Walker{r: r} }

// Flags returns what the file's header says of what is in it: HasAudio,
// HasVideo. It is 0 before the first tag was read.
func (w *Walker) Flags() byte { return w.flags }

// Next returns the next tag. Its Data is borrowed until the next call on w or
// its reader. At the end of a stream that ends between tags it returns io.EOF,
// inside one io.ErrUnexpectedEOF; what is not FLV matches ErrFormat. After a
// deadline the call can be repeated.
func (w *Walker) Next() (Tag, error) {
	n, err := w.tag()
	if err != nil {
		return Tag{}, err
	}
	p, err := w.r.Next(n)
	if err != nil {
		return Tag{}, inside(err)
	}
	return w.parse(p)
}

// NextBuf returns the next tag with its head and its tail as they are in the
// stream, retained, in whole; the tag's Data is borrowed until it is released.
// Errors are those of Next.
func (w *Walker) NextBuf() (Tag, mem.Buf, error) {
	n, err := w.tag()
	if err != nil {
		return Tag{}, mem.Buf{}, err
	}
	b, err := w.r.ReadBuf(n)
	if err != nil {
		return Tag{}, mem.Buf{}, inside(err)
	}
	t, err := w.parse(b.Bytes())
	if err != nil {
		b.Release()
		return Tag{}, mem.Buf{}, err
	}
	return t, b, nil
}

// tag returns the length of the next tag, of which only the head has been
// looked at.
func (w *Walker) tag() (int, error) {
	if !w.begun {
		if err := w.begin(); err != nil {
			return 0, err
		}
	}
	h, err := w.r.Peek(tagHead)
	if err != nil {
		if err == io.EOF && len(h) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	return tagHead + int(binary.BigEndian.Uint32(h)&maxData) + tagTail, nil
}

func (w *Walker) begin() error {
	h, err := w.r.Peek(headSize + tagTail)
	if err != nil {
		return inside(err)
	}
	if string(h[:len(signature)]) != signature || binary.BigEndian.Uint32(h[5:]) != headSize || binary.BigEndian.Uint32(h[headSize:]) != 0 {
		return fmt.Errorf("%w: it begins with %x", ErrFormat, h)
	}
	w.flags = h[4]
	_ = w.r.Skip(len(h))
	w.begun = true
	return nil
}

func (w *Walker) parse(p []byte) (Tag, error) {
	n := len(p) - tagTail
	if got := binary.BigEndian.Uint32(p[n:]); got != uint32(n) {
		at := w.r.TotalRead() - int64(w.r.Buffered()+len(p))
		return Tag{}, fmt.Errorf("%w: the tag of %d bytes at byte %d says at its end that it has %d", ErrFormat, n, at, got)
	}
	return Tag{
		Type: p[0] & typeMask,
		// The fourth byte of the time is the highest.
		Time: binary.BigEndian.Uint32(p[4:])>>8 | uint32(p[7])<<24,
		Data: p[tagHead:n:n],
	}, nil
}

// inside is for a place where the stream must not end.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// AppendHeader appends a file's header, with what comes before the first tag.
func AppendHeader(p []byte, flags byte) []byte {
	p = append(p, signature...)
	p = append(p, flags)
	p = binary.BigEndian.AppendUint32(p, headSize)
	return binary.BigEndian.AppendUint32(p, 0)
}

// AppendTag appends t with head and tail. More than 16 MiB - 1 of Data panic.
func AppendTag(p []byte, t Tag) []byte {
	if len(t.Data) > maxData {
		panic(fmt.Sprintf("flvwalk: AppendTag of %d bytes, at most %d", len(t.Data), maxData))
	}
	p = binary.BigEndian.AppendUint32(p, uint32(t.Type)<<24|uint32(len(t.Data)))
	p = binary.BigEndian.AppendUint32(p, t.Time<<8|t.Time>>24)
	p = append(p, 0, 0, 0) // the stream's number, always 0
	p = append(p, t.Data...)
	return binary.BigEndian.AppendUint32(p, uint32(tagHead+len(t.Data)))
}
