package flvwalk_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/internal/flvwalk"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// small is a stream of three tags, one of them empty.
func small() ([]byte, []flvwalk.Tag) {
	tags := []flvwalk.Tag{
		{Type: flvwalk.Script, Time: 0, Data: []byte("metadata")},
		{Type: flvwalk.Video, Time: 0x01fffffe, Data: bytes.Repeat([]byte("picture"), 50)},
		{Type: flvwalk.Audio, Time: 0xfedcba98, Data: nil},
	}
	p := flvwalk.AppendHeader(nil, flvwalk.HasAudio|flvwalk.HasVideo)
	for _, t := range tags {
		p = flvwalk.AppendTag(p, t)
	}
	return p, tags
}

func TestTagsAreReadAsTheyWereWritten(t *testing.T) {
	p, tags := small()
	check := func(name string, src io.Reader, retained bool) {
		a := mem.New(mem.Options{Leak: mem.LeakParanoid})
		r := &sluice.BufReader{Allocator: a}
		r.Reset(src)
		w := flvwalk.New(r)
		next := func() (tag flvwalk.Tag, b mem.Buf, err error) {
			for {
				if retained {
					tag, b, err = w.NextBuf()
				} else {
					tag, err = w.Next()
				}
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					return tag, b, err
				}
			}
		}
		at := 13
		for i, want := range tags {
			got, b, err := next()
			if err != nil || got.Type != want.Type || got.Time != want.Time || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("%s: tag %d: %+v, %v; want %+v", name, i, got, err, want)
			}
			if retained {
				n := 11 + len(want.Data) + 4
				if !bytes.Equal(b.Bytes(), p[at:at+n]) {
					t.Fatalf("%s: tag %d: other bytes", name, i)
				}
				at += n
				b.Release()
			}
		}
		if w.Flags() != flvwalk.HasAudio|flvwalk.HasVideo {
			t.Errorf("%s: flags %#x", name, w.Flags())
		}
		if _, _, err := next(); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
		r.Recycle()
		if l := a.Leaks(); len(l) > 0 {
			t.Errorf("%s: not released: %v", name, l)
		}
	}
	for _, retained := range []bool{false, true} {
		for name, src := range sluicetest.Chunkings(p) {
			check(name, src, retained)
		}
		for name, src := range sluicetest.TimeoutChunkings(p) {
			check(name, src, retained)
		}
		for name, src := range sluicetest.Splits(p) {
			check(name, src, retained)
		}
	}
}

func TestStreamThatIsCutOrIsNotFLV(t *testing.T) {
	p, _ := small()
	ends := map[int]bool{13: true, 13 + 23: true, 13 + 23 + 365: true, len(p): true}
	for cut := range len(p) + 1 {
		r := sluice.NewBufReaderBytes(bytes.Clone(p[:cut]))
		w := flvwalk.New(r)
		var err error
		for err == nil {
			_, err = w.Next()
		}
		want := io.ErrUnexpectedEOF
		if ends[cut] {
			want = io.EOF
		}
		if !errors.Is(err, want) {
			t.Errorf("cut at %d: %v, want %v", cut, err, want)
		}
		r.Recycle()
	}
	for _, c := range []struct {
		name string
		at   int
		part string
	}{{"signature", 0, "begins with"}, {"version", 3, "begins with"}, {"size of the header", 8, "begins with"}, {"size of a tag", 13 + 22, "at byte 13"}} {
		q := bytes.Clone(p)
		q[c.at] ^= 0x40
		r := sluice.NewBufReaderBytes(q)
		w := flvwalk.New(r)
		var err error
		for err == nil {
			_, err = w.Next()
		}
		if !errors.Is(err, flvwalk.ErrFormat) || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v", c.name, err)
		}
		r.Recycle()
	}
}

func TestClipIsWhatItIsSaidToBe(t *testing.T) {
	r := sluice.NewBufReader(bytes.NewReader(flvclip.File))
	defer r.Recycle()
	w := flvwalk.New(r)
	out := flvwalk.AppendHeader(nil, flvclip.File[4])
	// Tags by type, and of those of sound and picture the packets: the other
	// ones carry the decoder's settings or end the sequence.
	count, packets := map[byte]int{}, map[byte]int{}
	var last uint32
	for {
		tag, err := w.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		count[tag.Type]++
		if tag.Type != flvwalk.Script && tag.Data[1] == 1 {
			packets[tag.Type]++
		}
		last = max(last, tag.Time)
		out = flvwalk.AppendTag(out, tag)
	}
	if count[flvwalk.Script] != 1 || packets[flvwalk.Video] != 300 || packets[flvwalk.Audio] != 432 || last < 9000 || last > 11_000 {
		t.Errorf("%v tags and %v packets by type, the last at %d ms", count, packets, last)
	}
	if !bytes.Equal(out, flvclip.File) {
		t.Error("what was read is not what is written again")
	}
}

func FuzzWalker(f *testing.F) {
	p, _ := small()
	f.Add(p)
	f.Add(p[:40])
	f.Add(flvclip.File[:5000])
	f.Fuzz(func(t *testing.T, p []byte) {
		r := sluice.NewBufReader(bytes.NewReader(p))
		defer r.Recycle()
		w := flvwalk.New(r)
		out := flvwalk.AppendHeader(nil, 0)
		for {
			tag, err := w.Next()
			if err != nil {
				break
			}
			out = flvwalk.AppendTag(out, tag)
			// The reserved bits, and the stream's number, are not kept.
			if k := len(out) - len(tag.Data) - 15; !bytes.Equal(out[k+11:], p[k+11:len(out)]) || !bytes.Equal(out[k+1:k+8], p[k+1:k+8]) {
				t.Fatalf("tag at %d: %x, written again %x", k, p[k:len(out)], out[k:])
			}
		}
	})
}
