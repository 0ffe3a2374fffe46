package hls

import (
	"io"
	"slices"

	"github.com/sluice-go/sluice/mem"
)

// retained are parts that an answer sends.
type retained struct {
	bufs   []mem.Buf
	size   int64
	frames int
}

// retain holds parts. The timeline's lock is held. The caller calls release.
func retain(parts []*part) *retained {
	x := &retained{bufs: make([]mem.Buf, 0, len(parts))}
	for _, p := range parts {
		x.bufs = append(x.bufs, p.buf.Retain())
		x.size += int64(p.buf.Len())
		x.frames += p.frames
	}
	return x
}

// before puts bytes, which never change, before the parts.
func (x *retained) before(p []byte) {
	if len(p) == 0 {
		return
	}
	x.bufs = slices.Insert(x.bufs, 0, mem.Wrap(p, nil))
	x.size += int64(len(p))
}

func (x *retained) release() {
	for i := range x.bufs {
		x.bufs[i].Release()
	}
	x.bufs = nil
}

// ReadAt implements io.ReaderAt, for ranges.
func (x *retained) ReadAt(p []byte, from int64) (n int, err error) {
	for i := range x.bufs {
		b := x.bufs[i].Bytes()
		if from < int64(len(b)) {
			k := copy(p[n:], b[from:])
			n += k
			from += int64(k)
		}
		from -= int64(len(b))
		if n == len(p) {
			return n, nil
		}
	}
	return n, io.EOF
}
