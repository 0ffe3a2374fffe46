package scenarios

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// tagWays are the ways to read FLV tags without us.
var tagWays = []way{
	{"source", "the source alone, read 64 KiB at a time and not looked at", newFloor},
	{"naive", "a new slice for each tag, as most servers begin", func(src io.Reader, p place) walk {
		return &naiveTags{r: bufio.NewReaderSize(src, 16<<10), started: !p.s.headed()}
	}},
	{"peek", "bufio.Reader of 64 KiB with Peek and Discard, the best of the standard library", func(src io.Reader, p place) walk {
		return &peekTags{r: bufio.NewReaderSize(src, 64<<10), started: !p.s.headed()}
	}},
	{"bufiox", "cloudwego bufiox, Next over 64 KiB, released when little room is left", func(src io.Reader, p place) walk {
		return &bufioxTags{bufioxSource: newBufiox(src, p.s), started: !p.s.headed()}
	}},
}

var errTag = errors.New("scenarios: not a stream of FLV tags")

// checkHead refuses what does not begin as an FLV file.
func checkHead(h []byte) error {
	if string(h[:3]) != "FLV" {
		return fmt.Errorf("%w: it begins with %q", errTag, h[:3])
	}
	return nil
}

// checkTail refuses a tag of n payload bytes whose end says another size.
func checkTail(tail []byte, n int) error {
	if got := binary.BigEndian.Uint32(tail); got != uint32(tagHead+n) {
		return fmt.Errorf("%w: a tag of %d bytes ends with size %d", errTag, tagHead+n, got)
	}
	return nil
}

type naiveTags struct {
	r       *bufio.Reader
	started bool
	h       [tagHead]byte
	t       [tagTail]byte
}

func (w *naiveTags) walk(n int) (sum uint64, err error) {
	if !w.started {
		head := make([]byte, flvHead)
		if _, err := io.ReadFull(w.r, head); err != nil {
			return 0, err
		}
		if err := checkHead(head); err != nil {
			return 0, err
		}
		w.started = true
	}
	for range n {
		if _, err := io.ReadFull(w.r, w.h[:]); err != nil {
			return sum, err
		}
		p := make([]byte, tagSize(w.h[:]))
		if _, err := io.ReadFull(w.r, p); err != nil {
			return sum, err
		}
		if _, err := io.ReadFull(w.r, w.t[:]); err != nil {
			return sum, err
		}
		if err := checkTail(w.t[:], len(p)); err != nil {
			return sum, err
		}
		sum += tagMark(w.h[:], p, w.t[:])
	}
	return sum, nil
}

type peekTags struct {
	r       *bufio.Reader
	started bool
}

func (w *peekTags) walk(n int) (sum uint64, err error) {
	r := w.r
	if !w.started {
		head, err := r.Peek(flvHead)
		if err != nil {
			return 0, err
		}
		if err := checkHead(head); err != nil {
			return 0, err
		}
		if _, err := r.Discard(flvHead); err != nil {
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
		size := tagHead + k + tagTail
		p, err := r.Peek(size)
		if err != nil {
			return sum, err
		}
		tail := p[tagHead+k:]
		if err := checkTail(tail, k); err != nil {
			return sum, err
		}
		sum += tagMark(p, p[tagHead:tagHead+k], tail)
		if _, err := r.Discard(size); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

type bufioxTags struct {
	bufioxSource
	started bool
}

func (w *bufioxTags) walk(n int) (sum uint64, err error) {
	if !w.warm {
		if err := w.grow(); err != nil {
			return 0, err
		}
	}
	if !w.started {
		head, err := w.r.Next(flvHead)
		if err != nil {
			return 0, err
		}
		if err := checkHead(head); err != nil {
			return 0, err
		}
		w.started = true
	}
	for range n {
		h, err := w.r.Next(tagHead)
		if err != nil {
			return sum, err
		}
		k := tagSize(h)
		p, err := w.r.Next(k + tagTail)
		if err != nil {
			return sum, err
		}
		tail := p[k:]
		if err := checkTail(tail, k); err != nil {
			return sum, err
		}
		sum += tagMark(h, p[:k], tail)
		if err := w.settle(); err != nil {
			return sum, err
		}
	}
	return sum, nil
}
