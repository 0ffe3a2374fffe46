package scenarios

import (
	"encoding/binary"
	"io"

	"github.com/sluice-go/sluice"
)

// ourFrames are our ways to read frames.
var ourFrames = []way{
	{"next", "our BufReader: Next, borrowed", func(src io.Reader, _ place) walk {
		return &nextFrames{oneReader{sluice.NewBufReader(src)}}
	}},
	{"range", "our BufReader: ReadRange, borrowed in pieces", func(src io.Reader, _ place) walk {
		w := &rangeFrames{oneReader: oneReader{sluice.NewBufReader(src)}}
		w.yield = w.seen.add
		return w
	}},
	{"readbuf", "our BufReader: ReadBuf, retained, and Release", func(src io.Reader, _ place) walk {
		return &bufFrames{oneReader{sluice.NewBufReader(src)}}
	}},
}

// ourTags are our ways to read FLV tags.
var ourTags = []way{
	{"next", "our BufReader: Next, borrowed", func(src io.Reader, p place) walk {
		return &nextTags{oneReader: oneReader{sluice.NewBufReader(src)}, started: !p.s.headed()}
	}},
	{"range", "our BufReader: the payload by ReadRange, borrowed in pieces", func(src io.Reader, p place) walk {
		w := &rangeTags{oneReader: oneReader{sluice.NewBufReader(src)}, started: !p.s.headed()}
		w.yield = w.seen.add
		return w
	}},
	{"readbuf", "our BufReader: the payload by ReadBuf, retained, and Release", func(src io.Reader, p place) walk {
		return &bufTags{oneReader: oneReader{sluice.NewBufReader(src)}, started: !p.s.headed()}
	}},
}

// oneReader is a reader, if it has come to that, which is recycled when its
// walk ends.
type oneReader struct{ r *sluice.BufReader }

func (o oneReader) end() {
	if o.r != nil {
		o.r.Recycle()
	}
}

type nextFrames struct{ oneReader }

func (w *nextFrames) walk(n int) (sum uint64, err error) {
	r := w.r
	for range n {
		h, err := r.Next(frameHead)
		if err != nil {
			return sum, err
		}
		p, err := r.Next(int(binary.BigEndian.Uint32(h)))
		if err != nil {
			return sum, err
		}
		sum += mark(p)
	}
	return sum, nil
}

type rangeFrames struct {
	oneReader
	seen  piecewise
	yield func([]byte)
}

func (w *rangeFrames) walk(n int) (sum uint64, err error) {
	r := w.r
	for range n {
		k, err := r.ReadBE32(frameHead)
		if err != nil {
			return sum, err
		}
		w.seen.n = 0
		if err := r.ReadRange(int(k), w.yield); err != nil {
			return sum, err
		}
		sum += w.seen.mark()
	}
	return sum, nil
}

type bufFrames struct{ oneReader }

func (w *bufFrames) walk(n int) (sum uint64, err error) {
	r := w.r
	for range n {
		k, err := r.ReadBE32(frameHead)
		if err != nil {
			return sum, err
		}
		b, err := r.ReadBuf(int(k))
		if err != nil {
			return sum, err
		}
		sum += mark(b.Bytes())
		b.Release()
	}
	return sum, nil
}

// startTags reads the head of an FLV file.
func startTags(r *sluice.BufReader) error {
	head, err := r.Next(flvHead)
	if err != nil {
		return err
	}
	return checkHead(head)
}

type nextTags struct {
	oneReader
	started bool
}

func (w *nextTags) walk(n int) (sum uint64, err error) {
	r := w.r
	if !w.started {
		if err := startTags(r); err != nil {
			return 0, err
		}
		w.started = true
	}
	for range n {
		h, err := r.Peek(tagHead)
		if err != nil {
			return sum, err
		}
		k := tagSize(h)
		p, err := r.Next(tagHead + k + tagTail)
		if err != nil {
			return sum, err
		}
		tail := p[tagHead+k:]
		if err := checkTail(tail, k); err != nil {
			return sum, err
		}
		sum += tagMark(p, p[tagHead:tagHead+k], tail)
	}
	return sum, nil
}

type rangeTags struct {
	oneReader
	started bool
	head    [tagHead]byte // what is lent ends with the next call
	seen    piecewise
	yield   func([]byte)
}

func (w *rangeTags) walk(n int) (sum uint64, err error) {
	r := w.r
	if !w.started {
		if err := startTags(r); err != nil {
			return 0, err
		}
		w.started = true
	}
	for range n {
		h, err := r.Next(tagHead)
		if err != nil {
			return sum, err
		}
		copy(w.head[:], h)
		k := tagSize(h)
		w.seen.n = 0
		if err := r.ReadRange(k, w.yield); err != nil {
			return sum, err
		}
		tail, err := r.Next(tagTail)
		if err != nil {
			return sum, err
		}
		if err := checkTail(tail, k); err != nil {
			return sum, err
		}
		sum += tagSum(w.seen.mark(), w.head[:], tail)
	}
	return sum, nil
}

type bufTags struct {
	oneReader
	started bool
	head    [tagHead]byte
}

func (w *bufTags) walk(n int) (sum uint64, err error) {
	r := w.r
	if !w.started {
		if err := startTags(r); err != nil {
			return 0, err
		}
		w.started = true
	}
	for range n {
		h, err := r.Next(tagHead)
		if err != nil {
			return sum, err
		}
		copy(w.head[:], h)
		k := tagSize(h)
		b, err := r.ReadBuf(k)
		if err != nil {
			return sum, err
		}
		tail, err := r.Next(tagTail)
		if err == nil {
			err = checkTail(tail, k)
		}
		if err != nil {
			b.Release()
			return sum, err
		}
		sum += tagMark(w.head[:], b.Bytes(), tail)
		b.Release()
	}
	return sum, nil
}
