package mp4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"time"
)

// ErrNothing: there is nothing of the time that a clip was asked of.
var ErrNothing = errors.New("mp4: nothing was recorded then")

// A File is one that a clip is made of. The index is read by Clip, and not changed.
type File struct {
	io.ReaderAt
	Index *Index
}

// A Clip is a part of recordings as a file of its own.
type Clip struct {
	// Size is the file's, in bytes.
	Size int64
	// From is the first picture's time: that of the key frame at or before the one
	// that was asked for, which the edit list of the file says. To is the end.
	From, To time.Time

	pieces []piece
}

// A piece is bytes of its own, or those of a file.
type piece struct {
	own   []byte
	file  io.ReaderAt
	at, n int64
}

// NewClip finds what files, in their order, have from one time to another. It ends where
// a file begins that has another header. Nothing but the tables of the fragments is
// read. The error is ErrNothing, or as of Scan.
func NewClip(files []File, from, to time.Time) (*Clip, error) {
	m := &clipMaker{c: &Clip{}, to: to, room: make([]byte, lookAt), positions: map[uint32]uint64{}}
	for i := range files {
		f := &files[i]
		if m.first != nil && !bytes.Equal(m.first.Index.Header, f.Index.Header) {
			break
		}
		start := 0
		if m.first == nil {
			if start = f.Index.Find(from); start < 0 {
				continue
			}
		}
		if err := m.add(f, f.Index.Fragments[start:]); err != nil {
			return nil, err
		}
	}
	if m.first == nil {
		return nil, ErrNothing
	}
	return m.finish(from)
}

// A clipMaker has what NewClip knows so far.
type clipMaker struct {
	c         *Clip
	to        time.Time
	room      []byte
	first     *File
	sequence  uint32
	zero      time.Duration     // of the first file: 0 of the clip
	end       time.Duration     // of the clip
	positions map[uint32]uint64 // where the tracks have come to, in ticks of the clip
}

func (m *clipMaker) add(f *File, list []Fragment) error {
	var shift time.Duration // from the file's times to the clip's
	for i, one := range list {
		if !one.Wall.Before(m.to) || m.first != nil && i == 0 && !one.Key {
			return nil
		}
		full, runs, err := f.Index.read(f, one.At, one.At+one.Size, &m.room)
		if err != nil {
			return err
		}
		if m.first == nil {
			m.first, m.c.From, m.zero = f, full.Wall, full.Start
			for j := range runs {
				m.zero = min(m.zero, f.Index.time(&runs[j], runs[j].Base))
			}
		}
		if i == 0 {
			// The first file keeps its own clock; that of others is moved by the
			// time of day.
			shift = -m.zero
			if f != m.first {
				shift = full.Wall.Sub(m.c.From) + m.first.Index.startOf(m.c.From) - m.zero - full.Start
			}
		}
		m.fragment(f, full, runs, shift)
	}
	return nil
}

// startOf is the time in the file of the fragment with that time of day.
func (x *Index) startOf(wall time.Time) time.Duration {
	for _, f := range x.Fragments {
		if f.Wall.Equal(wall) {
			return f.Start
		}
	}
	return 0
}

// fragment adds a fragment, without the samples from the end on.
func (m *clipMaker) fragment(f *File, one Fragment, runs []Run, shift time.Duration) {
	ends := one.Start + m.to.Sub(one.Wall) // in the file
	var kept []Run
	var data []piece
	at := one.At + int64(one.Head)
	for i := range runs {
		r := &runs[i]
		scale := uint64(f.Index.scales[r.Track])
		all := r.Bytes()
		n, ticks := 0, r.Base
		for n < len(r.Samples) && f.Index.time(r, ticks) < ends {
			ticks += uint64(r.Samples[n].Duration)
			n++
		}
		out := Run{Track: r.Track, Samples: r.Samples[:n]}
		if n > 0 && scale > 0 {
			out.Base = uint64(max(int64(r.Base)+ticksOf(shift, scale), int64(m.positions[r.Track])))
			m.positions[r.Track] = out.Base + out.Length()
			m.end = max(m.end, f.Index.time(r, m.positions[r.Track]))
			kept = append(kept, out)
			data = append(data, piece{file: f, at: at, n: out.Bytes()})
		}
		at += all
	}
	if len(kept) == 0 {
		return
	}
	m.sequence++
	m.put(piece{own: AppendFragment(nil, m.sequence, one.Wall, kept)})
	for _, d := range data {
		m.put(d)
	}
}

func (m *clipMaker) put(p piece) {
	if p.own != nil {
		p.n = int64(len(p.own))
	}
	m.c.Size += p.n
	m.c.pieces = append(m.c.pieces, p)
}

func ticksOf(d time.Duration, scale uint64) int64 {
	n := mulDiv(uint64(d.Abs()), scale, uint64(time.Second))
	if d < 0 {
		return -int64(min(n, math.MaxInt64))
	}
	return int64(min(n, math.MaxInt64))
}

// finish puts the header first.
func (m *clipMaker) finish(from time.Time) (*Clip, error) {
	c := m.c
	if len(c.pieces) == 0 {
		return nil, ErrNothing
	}
	header := bytes.Clone(m.first.Index.Header)
	if at, ok := durationPlace(header); ok {
		copy(header[at:], PutDuration(m.end))
	}
	// What is before from is there for the decoder.
	begin := m.first.Index.startOf(c.From) - m.zero
	header = m.first.Index.withEdits(header, begin+max(from.Sub(c.From), 0))
	c.To = c.From.Add(m.end - begin)
	c.Size += int64(len(header))
	c.pieces = slices.Insert(c.pieces, 0, piece{own: header, n: int64(len(header))})
	return c, nil
}

// withEdits returns a header by which players begin at a time (sections 8.6.5 and
// 8.6.6).
func (x *Index) withEdits(header []byte, at time.Duration) []byte {
	be := binary.BigEndian
	moov, ok := find(header, "moov")
	if !ok || at <= 0 {
		return header
	}
	out := append([]byte(nil), header[:moov+boxHead]...)
	for p := header[moov+boxHead:]; len(p) > 0; {
		kind, size, ok := box(p)
		if !ok || size > len(p) {
			return header
		}
		tkhd, found := find(p[boxHead:size], "tkhd")
		if kind != "trak" || !found {
			out = append(out, p[:size]...)
			p = p[size:]
			continue
		}
		_, n, _ := box(p[boxHead+tkhd:])
		n += boxHead + tkhd
		id := be.Uint32(inside(p[boxHead:size], "tkhd")[12:])
		const elst, edts = boxHead + 4 + 4 + 20, boxHead + boxHead + 4 + 4 + 20
		begin := len(out)
		out = append(out, p[:n]...)
		out = append(be.AppendUint32(out, edts), "edts"...)
		out = append(be.AppendUint32(out, elst), "elst\x01\x00\x00\x00\x00\x00\x00\x01"...)
		out = be.AppendUint64(out, 0) // all of a file in fragments
		out = be.AppendUint64(out, uint64(ticksOf(at, uint64(x.scales[id]))))
		out = append(out, 0, 1, 0, 0)
		out = append(out, p[n:size]...)
		be.PutUint32(out[begin:], uint32(size+edts))
		p = p[size:]
	}
	be.PutUint32(out[moov:], uint32(len(out)-moov))
	return out
}

// WriteTo writes the clip.
func (c *Clip) WriteTo(w io.Writer) (n int64, err error) {
	for _, p := range c.pieces {
		var k int64
		if p.own != nil {
			var i int
			i, err = w.Write(p.own)
			k = int64(i)
		} else {
			k, err = copyFrom(w, p)
		}
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// copyFrom copies bytes of a file. From an *os.File to a connection the kernel does it.
func copyFrom(w io.Writer, p piece) (int64, error) {
	f := p.file
	if inner, ok := f.(*File); ok {
		f = inner.ReaderAt
	}
	if s, ok := f.(io.ReadSeeker); ok {
		if _, err := s.Seek(p.at, io.SeekStart); err != nil {
			return 0, err
		}
		return io.CopyN(w, s, p.n)
	}
	return io.Copy(w, io.NewSectionReader(f, p.at, p.n))
}
