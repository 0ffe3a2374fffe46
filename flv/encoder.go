package flv

import (
	"encoding/binary"

	"github.com/sluice-go/sluice"
)

// An Encoder writes FLV to a BufWriter. Payloads are not copied unless they are
// short, and nothing is allocated. Errors are the writer's, and sticky as they
// are there.
type Encoder struct {
	w       *sluice.BufWriter
	scratch [HeaderLen + PrevTagSizeLen]byte
}

// NewEncoder returns an encoder to w, borrowed while the encoder is in use.
func NewEncoder(w *sluice.BufWriter) *Encoder {
	if w == nil {
		panic("flv: NewEncoder(nil)")
	}
	return &Encoder{w: w}
}

func (e *Encoder) made() {
	if e.w == nil {
		panic("flv: Encoder that NewEncoder has not made")
	}
}

// WriteHeader writes the header of a file and the size of no tag that follows
// it.
func (e *Encoder) WriteHeader(h Header) error {
	e.made()
	p := append(h.Append(e.scratch[:0]), 0, 0, 0, 0)
	_, err := e.w.Write(p)
	return err
}

// WriteTag writes a tag, transferred, also when it fails, and the size that
// follows it. A type, size or stream that does not fit its bits panics, as
// TagHeader.Append does.
func (e *Encoder) WriteTag(t Tag) error {
	e.made()
	h := t.Header()
	size := uint32(TagHeaderLen + h.Size)
	if _, err := e.w.Write(h.Append(e.scratch[:0])); err != nil {
		t.Release()
		return err
	}
	if err := e.w.WriteBuf(t.Payload); err != nil {
		return err
	}
	_, err := e.w.Write(binary.BigEndian.AppendUint32(e.scratch[:0], size))
	return err
}

// Flush sends what waits in the writer.
func (e *Encoder) Flush() error {
	e.made()
	return e.w.Flush()
}
