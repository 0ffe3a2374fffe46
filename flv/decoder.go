package flv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-go/sluice"
)

// maxUnknown is how many tags of types that do not exist may come in a row. A
// few are a sender's own, many are no FLV.
const maxUnknown = 64

// A Decoder reads FLV from a BufReader, tag by tag. It works over readers of
// every kind: where the source fails for a time (a deadline, sluice.ErrShort of
// a fed reader) the call can be repeated, and has taken nothing of a tag.
//
// It takes what real files have: wrong sizes after tags, tags of unknown types,
// an end right after a payload. Stats counts them.
type Decoder struct {
	// MaxTag is the longest payload that is read, in bytes; 0 is MaxPayload,
	// which no tag exceeds. It may be changed between calls.
	MaxTag int

	r       *sluice.BufReader
	owed    bool   // the size of the last tag has not been read
	size    uint32 // that it should say
	first   bool   // of no tag, after the file's header
	unknown int    // in a row
	stats   DecoderStats
}

// DecoderStats counts what a Decoder has met.
type DecoderStats struct {
	Tags       int64 `json:"tags"`        // returned
	Unknown    int64 `json:"unknown"`     // passed over: tags of types that do not exist
	WrongSizes int64 `json:"wrong_sizes"` // sizes after tags that say something else
	Unsized    int64 `json:"unsized"`     // tags at the end of the stream without the size after them: 0 or 1
}

// NewDecoder returns a decoder of what r, borrowed while the decoder is in use,
// has next: a file's header for ReadHeader, or a tag for Next.
func NewDecoder(r *sluice.BufReader) *Decoder {
	if r == nil {
		panic("flv: NewDecoder(nil)")
	}
	return &Decoder{r: r}
}

// Stats returns what has been counted so far.
func (d *Decoder) Stats() DecoderStats { return d.stats }

// Offset returns the number of bytes consumed of what came from the source.
func (d *Decoder) Offset() int64 {
	d.made()
	return d.r.TotalRead() - int64(d.r.Buffered())
}

func (d *Decoder) made() {
	if d.r == nil {
		panic("flv: Decoder that NewDecoder has not made")
	}
}

// ReadHeader reads the file's header. A stream that ends before it is io.EOF,
// one that ends inside it io.ErrUnexpectedEOF.
func (d *Decoder) ReadHeader() (Header, error) {
	d.made()
	p, err := d.r.Peek(HeaderLen)
	if err != nil {
		return Header{}, d.cut(err, "file header", len(p))
	}
	h, n, err := ParseHeader(p)
	if err != nil {
		return Header{}, err
	}
	if _, err := d.r.Next(n); err != nil {
		return Header{}, d.cut(err, "file header", len(p))
	}
	d.owed, d.size, d.first = true, 0, true
	return h, nil
}

// Next returns the next tag, whose payload is retained: it is the memory that
// was read into, and the caller's to release. Nothing is allocated.
//
// The end of the stream between tags is io.EOF, inside one
// io.ErrUnexpectedEOF. ErrTooLong is a tag longer than MaxTag, ErrSyntax what is
// no tag; there is no way on after these. Errors of the source come as they
// are, and the call can be repeated.
func (d *Decoder) Next() (Tag, error) {
	d.made()
	for {
		if d.owed {
			if err := d.settle(); err != nil {
				return Tag{}, err
			}
		}
		p, err := d.r.Peek(TagHeaderLen)
		if err != nil {
			return Tag{}, d.cut(err, "tag header", len(p))
		}
		h, err := ParseTagHeader(p)
		if err != nil {
			return Tag{}, fmt.Errorf("%w, at byte %d", err, d.Offset())
		}
		if d.MaxTag > 0 && h.Size > d.MaxTag {
			return Tag{}, fmt.Errorf("%w: a tag of %d bytes at byte %d, limit %d", ErrTooLong, h.Size, d.Offset(), d.MaxTag)
		}
		known := h.Type == TagAudio || h.Type == TagVideo || h.Type == TagScript
		if !known && d.unknown >= maxUnknown {
			return Tag{}, fmt.Errorf("%w: %d tags of unknown types in a row, the last before byte %d", ErrSyntax, d.unknown, d.Offset())
		}
		whole, err := d.r.ReadBuf(TagHeaderLen + h.Size)
		if err != nil {
			return Tag{}, d.cut(err, "tag", d.r.Buffered())
		}
		d.owed, d.size = true, uint32(TagHeaderLen+h.Size)
		if !known {
			whole.Release()
			d.unknown++
			d.stats.Unknown++
			continue
		}
		t := Tag{Type: h.Type, Filter: h.Filter, Time: h.Time, StreamID: h.StreamID, Payload: whole.RetainedSlice(TagHeaderLen, whole.Len())}
		whole.Release()
		d.unknown = 0
		d.stats.Tags++
		if d.r.Buffered() >= PrevTagSizeLen {
			// Taken now if it is there, so that an idle connection holds no
			// memory for it, and waited for with the next tag if it is not:
			// a sender may write it together with that.
			_ = d.settle()
		}
		return t, nil
	}
}

// settle reads the size that follows a tag.
func (d *Decoder) settle() error {
	p, err := d.r.Next(PrevTagSizeLen)
	if err != nil {
		if err == io.EOF && !d.first {
			d.owed = false
			d.stats.Unsized++
		}
		return d.cut(err, "the size after a tag", d.r.Buffered())
	}
	if got := binary.BigEndian.Uint32(p); got != d.size {
		d.stats.WrongSizes++
	}
	d.owed, d.first = false, false
	return nil
}

// cut makes the error of a stream that ended or failed with n bytes of what
// was wanted. What can be repeated stays as it is, and costs nothing.
func (d *Decoder) cut(err error, what string, n int) error {
	if err == io.EOF && n > 0 {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("flv: %s at byte %d: the stream ends after %d bytes of it: %w", what, d.Offset(), n, io.ErrUnexpectedEOF)
	}
	return err
}

// tagOffset returns where the tag that Next returned last begins.
func (d *Decoder) tagOffset(t *Tag) int64 {
	at := d.Offset() - int64(TagHeaderLen+t.Payload.Len())
	if !d.owed {
		at -= PrevTagSizeLen
	}
	return at
}
