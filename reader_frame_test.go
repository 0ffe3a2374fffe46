package sluice_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// frameHead says what stands at the front of p: a length and how many bytes it
// takes, 0 for a varint that is too large. Where bytes are missing it is not
// whole, and head is how many are needed at least.
func frameHead(f frameForm, p []byte) (n uint64, head int, whole bool) {
	if f.prefix == 0 {
		n, head := binary.Uvarint(p)
		switch {
		case head == 0 && len(p) < binary.MaxVarintLen64:
			return 0, len(p) + 1, false
		case head <= 0:
			return 0, 0, true
		}
		return n, head, true
	}
	if len(p) < f.prefix {
		return 0, f.prefix, false
	}
	// The length whose head this is: heads are made without the code under test.
	var wide [4]byte
	copy(wide[:], p[:f.prefix])
	n = uint64(binary.LittleEndian.Uint32(wide[:]))
	if low := f.head(nil, 1); low[0] != 1 {
		var big [4]byte
		copy(big[4-f.prefix:], p[:f.prefix])
		n = uint64(binary.BigEndian.Uint32(big[:]))
	}
	return n, f.prefix, true
}

// framesOf returns frames of the given sizes, one behind the other.
func framesOf(f frameForm, data []byte, sizes []int) []byte {
	var p []byte
	for _, n := range sizes {
		p = append(f.head(p, n), data[:n]...)
	}
	return p
}

// readFrames reads frames of the given sizes and the end, repeating what a
// deadline interrupts.
func readFrames(t *testing.T, r *sluice.BufReader, f frameForm, data []byte, sizes []int) {
	t.Helper()
	next := func() (mem.Buf, error) {
		for {
			had := r.TotalRead() - int64(r.Buffered())
			p, err := r.ReadFrame(f.prefix, f.order, 0)
			if err != nil && r.TotalRead()-int64(r.Buffered()) != had {
				t.Fatalf("consumed something and returned %v", err)
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				return p, err
			}
		}
	}
	for i, n := range sizes {
		p, err := next()
		if err != nil {
			t.Fatalf("frame %d, of %d bytes: %v", i, n, err)
		}
		if !bytes.Equal(p.Bytes(), data[:n]) {
			t.Errorf("frame %d, of %d bytes: got %d, or others", i, n, p.Len())
		}
		p.Release()
	}
	if p, err := next(); err != io.EOF || p.Valid() {
		t.Errorf("at the end: %v", err)
	}
}

func TestFramesOverEveryChunking(t *testing.T) {
	data := testData(900)
	for _, f := range frameForms {
		var sizes []int
		for _, n := range []int{0, 1, 127, 128, 255, 256, 3, 900} {
			if n <= f.most {
				sizes = append(sizes, n)
			}
		}
		stream := framesOf(f, data, sizes)
		for _, bufLen := range []int{0, 16, 4096} {
			run := func(name string, src io.Reader) {
				t.Run(fmt.Sprintf("%s/BufLen %d/%s", f.name, bufLen, name), func(t *testing.T) {
					readFrames(t, readerOf(t, paranoid(t), bufLen, src), f, data, sizes)
				})
			}
			for name, src := range sluicetest.Chunkings(stream) {
				run(name, src)
			}
			for name, src := range sluicetest.TimeoutChunkings(stream) {
				run("timeouts/"+name, src)
			}
		}
	}
}

func TestFramesOverEverySource(t *testing.T) {
	data := testData(200_000)
	f := frameForms[len(frameForms)-2]
	sizes := []int{1, 16384, 0, 65536, 200_000, 300, 65535}
	for _, s := range streams() {
		if s.name == "fed" {
			continue // see TestFramesOfAFedReader
		}
		for _, most := range []int{1 << 20, 7000} {
			t.Run(fmt.Sprintf("%s by %d", s.name, most), func(t *testing.T) {
				readFrames(t, s.open(t, paranoid(t), framesOf(f, data, sizes), every(most)), f, data, sizes)
			})
		}
	}
}

// However a frame is split, a fed reader returns ErrShort until it is whole.
func TestFramesOfAFedReader(t *testing.T) {
	data := testData(300)
	for _, f := range frameForms {
		n := min(300, f.most)
		stream := framesOf(f, data, []int{n})
		for _, feed := range []string{"Feed", "FeedCopy", "FeedBuf"} {
			r := sluice.NewBufReaderFed(sluice.Options{Allocator: paranoid(t)})
			for i := range stream {
				if p, err := r.ReadFrame(f.prefix, f.order, 0); !errors.Is(err, sluice.ErrShort) || p.Valid() {
					t.Fatalf("%s, %s: %v after %d of %d bytes", f.name, feed, err, i, len(stream))
				}
				if r.Buffered() != i {
					t.Fatalf("%s, %s: %d bytes of %d are left", f.name, feed, r.Buffered(), i)
				}
				one := []byte{stream[i]}
				var err error
				switch feed {
				case "Feed":
					err = r.Feed(one)
				case "FeedCopy":
					err = r.FeedCopy(one)
				case "FeedBuf":
					err = r.FeedBuf(mem.Wrap(one, nil))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			p, err := r.ReadFrame(f.prefix, f.order, 0)
			if err != nil || !bytes.Equal(p.Bytes(), data[:n]) {
				t.Fatalf("%s, %s: %v", f.name, feed, err)
			}
			p.Release()
			r.Recycle()
		}
	}
}

func TestFramesThatEndInside(t *testing.T) {
	data := testData(200)
	for _, f := range frameForms {
		stream := framesOf(f, data, []int{200})
		for cut := range stream {
			if cut > 10 && cut%17 != 0 && cut != len(stream)-1 {
				continue // in the middle of the payload, nothing new
			}
			for name, src := range sluicetest.Chunkings(stream[:cut]) {
				r := readerOf(t, paranoid(t), 0, src)
				want := io.ErrUnexpectedEOF
				if cut == 0 {
					want = io.EOF
				}
				for range 2 {
					p, err := r.ReadFrame(f.prefix, f.order, 0)
					if !errors.Is(err, want) || errors.Is(err, io.EOF) != (cut == 0) || p.Valid() || r.Buffered() != cut {
						t.Fatalf("%s, %s, %d bytes: %v, %d are left", f.name, name, cut, err, r.Buffered())
					}
				}
			}
		}
	}
}

func TestFramesAboveTheLimitAreRefused(t *testing.T) {
	data := testData(300)
	for _, f := range frameForms {
		for _, c := range []struct {
			n, limit, frame int
			most            int64 // 0: the frame is read
		}{
			{100, 100, 0, 0}, {101, 100, 0, 100}, {100, 0, 100, 0}, {101, 0, 100, 100},
			{101, 1000, 100, 100}, {51, 50, 100, 50}, {100, 0, 0, 0}, {0, 1, 1, 0}, {2, 0, 1, 1},
		} {
			for name, src := range sluicetest.Chunkings(framesOf(f, data, []int{c.n})) {
				r := readerOf(t, paranoid(t), 0, src)
				r.SetLimits(sluice.Options{Frame: c.frame})
				p, err := r.ReadFrame(f.prefix, f.order, c.limit)
				if c.most == 0 {
					if err != nil || !bytes.Equal(p.Bytes(), data[:c.n]) {
						t.Fatalf("%s, %s, %+v: %v", f.name, name, c, err)
					}
					p.Release()
					continue
				}
				var e *sluice.Error
				if !errors.As(err, &e) || !errors.Is(err, sluice.ErrTooLong) || sluice.OpOf(e) != "ReadFrame" || sluice.LimitOf(e) != c.most || sluice.GotOf(e) != int64(c.n) {
					t.Fatalf("%s, %s, %+v: %v", f.name, name, c, err)
				}
				// It can be read in another way.
				if err := r.Skip(len(f.head(nil, c.n))); err != nil {
					t.Fatal(err)
				}
				if rest, err := io.ReadAll(r); err != nil || !bytes.Equal(rest, data[:c.n]) {
					t.Fatalf("%s, %s, %+v: then %q, %v", f.name, name, c, rest, err)
				}
			}
		}
	}
}

func TestVarintsOfFrames(t *testing.T) {
	for _, c := range []struct {
		head string
		want error // nil: the frame is "body"
	}{
		{"\x04", nil},
		{"\x84\x00", nil}, // longer than need be, as encoding/binary allows
		{"\x84\x80\x80\x80\x80\x80\x80\x80\x80\x00", nil},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", sluice.ErrTooLong},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", sluice.ErrTooLong},
		{"\x84\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", sluice.ErrTooLong},
		{"\x80\x80\x80", io.ErrUnexpectedEOF},
	} {
		body := "body"
		if c.want == io.ErrUnexpectedEOF {
			body = ""
		}
		for name, src := range sluicetest.Chunkings([]byte(c.head + body)) {
			r := readerOf(t, paranoid(t), 0, src)
			p, err := r.ReadFrame(0, nil, 0)
			if c.want == nil {
				if err != nil || string(p.Bytes()) != "body" {
					t.Fatalf("%q, %s: %v", c.head, name, err)
				}
				p.Release()
				continue
			}
			if !errors.Is(err, c.want) || r.TotalRead() != int64(r.Buffered()) {
				t.Fatalf("%q, %s: %v, %d bytes of %d are left", c.head, name, err, r.Buffered(), r.TotalRead())
			}
		}
	}
}

func TestFramesWithWrongArgumentsPanic(t *testing.T) {
	for _, c := range []struct {
		prefix int
		order  binary.ByteOrder
		limit  int
	}{
		{-1, binary.BigEndian, 0}, {5, binary.BigEndian, 0}, {8, binary.LittleEndian, 0},
		{2, nil, 0}, {3, nil, 0}, {4, nil, 0}, {4, binary.BigEndian, -1}, {0, nil, -5},
	} {
		r := readerOf(t, paranoid(t), 0, strings.NewReader("\x00\x00\x00\x01abc"))
		if _, err := r.Peek(5); err != nil {
			t.Fatal(err)
		}
		text := panicOf(func() { _, _ = r.ReadFrame(c.prefix, c.order, c.limit) })
		if !strings.HasPrefix(text, "sluice: BufReader.ReadFrame(") || r.TotalRead() != int64(r.Buffered()) {
			t.Errorf("%+v: panic %q", c, text)
		}
	}
}

// panicking panics at Read number turn and returns single bytes otherwise.
type panicking struct {
	data []byte
	turn int
}

func (p *panicking) Read(to []byte) (int, error) {
	if p.turn--; p.turn == 0 {
		panic("the source")
	}
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(to[:1], p.data)
	p.data = p.data[n:]
	return n, nil
}

func TestAFrameSurvivesAPanicOfTheSource(t *testing.T) {
	data := testData(40)
	f := frameForms[9]
	stream := append([]byte("x"), framesOf(f, data, []int{40})...)
	for turn := 2; turn <= len(stream); turn++ {
		r := readerOf(t, paranoid(t), 0, &panicking{stream, turn})
		if _, err := r.ReadByte(); err != nil {
			t.Fatal(err)
		}
		if text := panicOf(func() { _, _ = r.ReadFrame(f.prefix, f.order, 0) }); text != "the source" {
			t.Fatalf("turn %d: panic %q", turn, text)
		}
		if err := r.UnreadByte(); err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		if c, err := r.ReadByte(); c != 'x' || err != nil {
			t.Fatalf("turn %d: %q, %v", turn, c, err)
		}
		p, err := r.ReadFrame(f.prefix, f.order, 0)
		if err != nil || !bytes.Equal(p.Bytes(), data) {
			t.Fatalf("turn %d: %v", turn, err)
		}
		p.Release()
	}
}

// A frame as long as a size class fits a budget of one such block: the length
// in front of it needs no larger one.
func TestAFrameTakesABlockOfItsOwnLength(t *testing.T) {
	for _, n := range []int{4096, 16384, 65536} {
		f := frameForms[9]
		a := watched(t, int64(n))
		data := testData(n)
		r := readerOf(t, a, 0, &pieces{data: framesOf(f, data, []int{n}), next: every(4)})
		if _, err := r.Peek(4); err != nil {
			t.Fatal(err)
		}
		p, err := r.ReadFrame(f.prefix, f.order, 0)
		if err != nil || !bytes.Equal(p.Bytes(), data) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		p.Release()
	}
}

// FuzzReadFrame reads frames of any bytes, whole and in two pieces, and writes
// the frames that it got again.
func FuzzReadFrame(f *testing.F) {
	for i, form := range frameForms {
		f.Add(uint8(i), uint16(0), uint8(1), framesOf(form, testData(200), []int{3, 0, 200}))
		f.Add(uint8(i), uint16(10), uint8(0), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	}
	f.Fuzz(func(t *testing.T, form uint8, limit uint16, split uint8, data []byte) {
		c := frameForms[int(form)%len(frameForms)]
		a := paranoid(t)
		var out bytes.Buffer
		w := writerOf(t, a, 0, &out)
		whole := sluice.NewBufReaderBytes(bytes.Clone(data), sluice.Options{Allocator: a})
		t.Cleanup(whole.Recycle)
		parts := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
		t.Cleanup(parts.Recycle)
		rest, fed := data, 0
		for {
			p, err := whole.ReadFrame(c.prefix, c.order, int(limit))
			q, perr := parts.ReadFrame(c.prefix, c.order, int(limit))
			for errors.Is(perr, sluice.ErrShort) {
				if fed == len(data) {
					parts.FeedEnd(nil)
				} else {
					n := min(1+int(split), len(data)-fed)
					if err := parts.Feed(bytes.Clone(data[fed : fed+n])); err != nil {
						t.Fatal(err)
					}
					fed += n
				}
				q, perr = parts.ReadFrame(c.prefix, c.order, int(limit))
			}
			n, head, there := frameHead(c, rest)
			if err != nil {
				switch {
				case fmt.Sprint(err) != fmt.Sprint(perr):
					t.Fatalf("whole: %v, in parts: %v", err, perr)
				case err == io.EOF && len(rest) == 0:
				case errors.Is(err, io.ErrUnexpectedEOF) && len(rest) > 0 && (!there || uint64(len(rest)-head) < n):
				case errors.Is(err, sluice.ErrTooLong) && there && head == 0:
				case errors.Is(err, sluice.ErrTooLong) && (n > uint64(limit) && limit > 0 || n > 64<<20):
				default:
					t.Fatalf("%v at %q", err, rest[:min(20, len(rest))])
				}
				break
			}
			if perr != nil || !there || !bytes.Equal(p.Bytes(), rest[head:head+int(n)]) || !bytes.Equal(q.Bytes(), p.Bytes()) {
				t.Fatalf("a frame of %d bytes, of %d in parts, %v", p.Len(), q.Len(), perr)
			}
			rest = rest[head+int(n):]
			q.Release()
			if err := w.WriteFrame(c.prefix, c.order, p); err != nil {
				t.Fatal(err)
			}
			// A varint may be longer than need be; else the same bytes come out.
			if err := w.Flush(); err != nil || c.prefix > 0 && !bytes.Equal(out.Bytes(), data[:len(data)-len(rest)]) {
				t.Fatalf("written again: %d bytes, %v", out.Len(), err)
			}
		}
	})
}
