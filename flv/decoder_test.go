package flv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// watchedReader returns a reader whose memory is watched: the test fails if a
// payload is not released, or looked at afterwards.
func watchedReader(t testing.TB) *sluice.BufReader {
	t.Helper()
	a := mem.New(mem.Options{Name: t.Name(), Leak: mem.LeakParanoid})
	t.Cleanup(func() {
		for _, l := range a.Leaks() {
			t.Errorf("not released: %d bytes taken at\n%s", l.Size, l.Stack)
		}
	})
	r := &sluice.BufReader{Allocator: a}
	t.Cleanup(r.Recycle)
	return r
}

// flat is a tag as tests compare it.
type flat struct {
	header  flv.TagHeader
	payload string
}

// take makes a tag flat and releases it.
func take(t flv.Tag) flat {
	defer t.Release()
	return flat{t.Header(), string(t.Payload.Bytes())}
}

// walkClip cuts the clip into tags by the fields of its headers alone.
func walkClip() []flat {
	var all []flat
	for p := flvclip.File[flv.HeaderLen+flv.PrevTagSizeLen:]; len(p) > 0; {
		n := int(binary.BigEndian.Uint32(p) & 0xffffff)
		at := binary.BigEndian.Uint32(p[4:])>>8 | uint32(p[7])<<24
		all = append(all, flat{flv.TagHeader{Type: flv.TagType(p[0]), Size: n, Time: at}, string(p[11 : 11+n])})
		p = p[11+n+4:]
	}
	return all
}

// decodeAll reads to the end. again tells whether an error is a reason to call
// again.
func decodeAll(d *flv.Decoder, again func(error) bool) (h flv.Header, all []flat, err error) {
	for {
		if h, err = d.ReadHeader(); err == nil {
			break
		}
		if !again(err) {
			return h, nil, err
		}
	}
	for {
		t, err := d.Next()
		switch {
		case err == nil:
			all = append(all, take(t))
		case !again(err):
			return h, all, err
		}
	}
}

func never(error) bool { return false }

func sameTags(t *testing.T, how string, got, want []flat) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d tags, want %d", how, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: tag %d is %+v, want %+v", how, i, got[i].header, want[i].header)
		}
	}
}

func TestDecoderOverEveryChunking(t *testing.T) {
	file, want := flvclip.File, walkClip()
	check := func(how string, r io.Reader, again func(error) bool) {
		in := watchedReader(t)
		in.Reset(r)
		d := flv.NewDecoder(in)
		h, got, err := decodeAll(d, again)
		if err != io.EOF || h != (flv.Header{Audio: true, Video: true}) {
			t.Fatalf("%s: %+v, %v", how, h, err)
		}
		sameTags(t, how, got, want)
		if s := d.Stats(); s != (flv.DecoderStats{Tags: int64(len(want))}) || d.Offset() != int64(len(file)) {
			t.Errorf("%s: %+v, offset %d", how, s, d.Offset())
		}
	}
	for how, r := range sluicetest.Chunkings(file) {
		check(how, r, never)
	}
	// A timeout at every byte takes and returns memory at every byte, each
	// with its stack: the first tags, key frame and audio among them, will do.
	want = want[:40]
	end := flv.HeaderLen + flv.PrevTagSizeLen
	for _, tag := range want {
		end += flv.TagHeaderLen + tag.header.Size + flv.PrevTagSizeLen
	}
	file = file[:end]
	timeouts := func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
	for how, r := range sluicetest.TimeoutChunkings(file) {
		check(how, r, timeouts)
	}
}

func TestDecoderIsFed(t *testing.T) {
	want := walkClip()
	rng := rand.New(rand.NewPCG(sluicetest.Seed(t), 0))
	for _, most := range []int{1, 3, 100, 5000, 100_000} {
		in := watchedReader(t)
		in.Reset(nil)
		d := flv.NewDecoder(in)
		rest := flvclip.File[:min(len(flvclip.File), most*50_000)]
		whole := len(rest) == len(flvclip.File)
		feed := func(err error) bool {
			if !errors.Is(err, sluice.ErrShort) {
				return false
			}
			before := d.Offset()
			if _, err := d.Next(); !errors.Is(err, sluice.ErrShort) {
				t.Fatalf("called again with nothing new: %v", err)
			}
			if d.Offset() != before {
				t.Fatalf("a call that lacks bytes went from %d to %d", before, d.Offset())
			}
			if len(rest) == 0 {
				in.FeedEnd(nil)
				return true
			}
			n := min(1+rng.IntN(most), len(rest))
			var feeding error
			switch rng.IntN(2) {
			case 0:
				feeding = in.FeedCopy(rest[:n])
			default:
				feeding = in.Feed(bytes.Clone(rest[:n]))
			}
			if feeding != nil {
				t.Fatal(feeding)
			}
			rest = rest[n:]
			return true
		}
		if err := in.FeedCopy(rest[:13]); err != nil {
			t.Fatal(err)
		}
		rest = rest[13:]
		_, got, err := decodeAll(d, feed)
		if whole && err != io.EOF {
			t.Fatal(err)
		}
		if whole {
			sameTags(t, fmt.Sprint(most), got, want)
		} else {
			sameTags(t, fmt.Sprint(most), got, want[:len(got)])
		}
	}
}

func TestDecoderOfAReaderOfSlices(t *testing.T) {
	in := sluice.NewBufReaderChan(0, sluice.Options{Allocator: watchedReader(t).Allocator})
	defer in.Recycle()
	mouth := in.Mouth
	go func() {
		defer close(mouth)
		for p := range slices.Chunk(flvclip.File, 1999) {
			mouth <- bytes.Clone(p)
		}
	}()
	_, got, err := decodeAll(flv.NewDecoder(in), never)
	if err != io.EOF {
		t.Fatal(err)
	}
	sameTags(t, "slices", got, walkClip())
}

// small is a file that has most of what can be: its tags are one of each type,
// an empty one and two of unknown types.
func small() (file []byte, tags []flat) {
	file = append(flv.Header{Audio: true}.Append(nil), 0, 0, 0, 0)
	for _, one := range []flat{
		{flv.TagHeader{Type: flv.TagScript, Size: 3}, "abc"},
		{flv.TagHeader{Type: 7, Size: 1}, "u"},
		{flv.TagHeader{Type: flv.TagAudio, Time: 1<<32 - 1, StreamID: 5}, ""},
		{flv.TagHeader{Type: flv.TagVideo, Size: 2, Time: 7, Filter: true}, "vv"},
		{flv.TagHeader{Type: 31, Size: 0}, ""},
	} {
		file = append(one.header.Append(file), one.payload...)
		file = binary.BigEndian.AppendUint32(file, uint32(11+len(one.payload)))
		switch one.header.Type {
		case flv.TagAudio, flv.TagVideo, flv.TagScript:
			tags = append(tags, one)
		}
	}
	return file, tags
}

func TestDecoderAtEverySplit(t *testing.T) {
	file, want := small()
	for how, r := range sluicetest.Splits(file) {
		in := watchedReader(t)
		in.Reset(r)
		d := flv.NewDecoder(in)
		_, got, err := decodeAll(d, never)
		if err != io.EOF {
			t.Fatalf("%s: %v", how, err)
		}
		sameTags(t, how, got, want)
		if s := d.Stats(); s != (flv.DecoderStats{Tags: 3, Unknown: 2}) {
			t.Errorf("%s: %+v", how, s)
		}
	}
}

func TestDecoderAtEveryEnd(t *testing.T) {
	file, want := small()
	// Where a file may end: after a tag, with the size that follows or without.
	tags, unsized := map[int]int{0: 0, 9: 0, 13: 0}, map[int]bool{}
	at := 13
	for i, size := range []int{3, 1, 0, 2, 0} {
		n := []int{1, 1, 2, 3, 3}[i]
		at += 11 + size
		tags[at], unsized[at] = n, true
		at += 4
		tags[at] = n
	}
	for n := range len(file) + 1 {
		in := watchedReader(t)
		in.Reset(iotest.OneByteReader(bytes.NewReader(file[:n])))
		d := flv.NewDecoder(in)
		_, got, err := decodeAll(d, never)
		whole, clean := tags[n]
		if clean && err != io.EOF || !clean && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", n, len(file), err)
		}
		if clean {
			sameTags(t, fmt.Sprint(n), got, want[:whole])
		}
		if s := d.Stats(); s.Unsized == 1 != unsized[n] || s.WrongSizes != 0 {
			t.Errorf("%d bytes: %+v", n, s)
		}
		if _, again := d.Next(); n > 13 && clean && again != io.EOF {
			t.Errorf("%d bytes, called again: %v", n, again)
		}
	}
}

// TestTagComesBeforeItsSize has a sender that writes the size after a tag
// together with the next one.
func TestTagComesBeforeItsSize(t *testing.T) {
	file, want := small()
	in := watchedReader(t)
	in.Reset(nil)
	d := flv.NewDecoder(in)
	if err := in.FeedCopy(file[:13+11+3]); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	tag, err := d.Next()
	if err != nil {
		t.Fatal(err)
	}
	sameTags(t, "the first", []flat{take(tag)}, want[:1])
	if _, err := d.Next(); !errors.Is(err, sluice.ErrShort) {
		t.Error(err)
	}
	if err := in.FeedCopy(file[13+11+3:]); err != nil {
		t.Fatal(err)
	}
	tag, err = d.Next()
	if err != nil {
		t.Fatal(err)
	}
	sameTags(t, "the second", []flat{take(tag)}, want[1:2])
}

func TestDecoderTakesWrongSizes(t *testing.T) {
	file := bytes.Clone(flvclip.File)
	copy(file[9:], "\xff\xff\xff\xff")
	copy(file[len(file)-4:], "\x00\x00\x00\x00")
	in := watchedReader(t)
	in.Reset(bytes.NewReader(file))
	d := flv.NewDecoder(in)
	_, got, err := decodeAll(d, never)
	if err != io.EOF || d.Stats().WrongSizes != 2 {
		t.Errorf("%v, %+v", err, d.Stats())
	}
	sameTags(t, "wrong sizes", got, walkClip())
}

func TestDecoderPassesOverALongerHeader(t *testing.T) {
	_, want := small()
	file, _ := small()
	file = append([]byte("FLV\x01\x05\x00\x00\x00\x0cxyz"), file[9:]...)
	in := watchedReader(t)
	in.Reset(bytes.NewReader(file))
	_, got, err := decodeAll(flv.NewDecoder(in), never)
	if err != io.EOF {
		t.Fatal(err)
	}
	sameTags(t, "longer header", got, want)
}

func TestDecoderRefuses(t *testing.T) {
	head := "FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00"
	unknown := "\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b"
	for _, c := range []struct {
		name, file string
		want       error
		says       string
	}{
		{"no FLV", "GIF89a, and so on and on", flv.ErrSyntax, "GIF"},
		{"what is no tag", head + "\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", flv.ErrSyntax, "byte 13"},
		{"a tag above the limit", head + "\x09\x00\x10\x01\x00\x00\x00\x00\x00\x00\x00", flv.ErrTooLong, "4097 bytes at byte 13, limit 4096"},
		{"65 unknown tags", head + strings.Repeat(unknown, 65), flv.ErrSyntax, "64 tags of unknown types"},
		{"a claimed size", head + "\x09\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00" + "few", io.ErrUnexpectedEOF, "byte 13"},
	} {
		in := watchedReader(t)
		in.Reset(strings.NewReader(c.file))
		d := flv.NewDecoder(in)
		d.MaxTag = 4096
		_, _, err := decodeAll(d, never)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, again := d.Next(); again == nil {
			t.Errorf("%s: went on", c.name)
		}
	}
	in := watchedReader(t)
	in.Reset(strings.NewReader(head + strings.Repeat(unknown, 64)))
	d := flv.NewDecoder(in)
	if _, _, err := decodeAll(d, never); err != io.EOF || d.Stats().Unknown != 64 {
		t.Errorf("64 unknown tags: %v, %+v", err, d.Stats())
	}
}

// TestMemoryFollowsWhatArrived announces the largest tag and sends a little of it.
func TestMemoryFollowsWhatArrived(t *testing.T) {
	in := watchedReader(t)
	claim := "\x09\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00"
	in.Reset(io.MultiReader(strings.NewReader(claim), bytes.NewReader(make([]byte, 100_000)), iotest.ErrReader(os.ErrDeadlineExceeded)))
	if _, err := flv.NewDecoder(in).Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if out := in.Allocator.Stats().CheckedOut; out > 2*100_000+64<<10 {
		t.Errorf("%d bytes are held for 100,000", out)
	}
}

func TestPayloadsOutliveTheReader(t *testing.T) {
	in := watchedReader(t)
	in.Reset(bytes.NewReader(flvclip.File))
	d := flv.NewDecoder(in)
	if _, err := d.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	var tags []flv.Tag
	for {
		tag, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tags = append(tags, tag)
	}
	in.Recycle()
	var got []flat
	for i := range tags {
		got = append(got, flat{tags[i].Header(), string(tags[i].Payload.Bytes())})
		tags[i].Release()
	}
	sameTags(t, "kept", got, walkClip())
}

// endless repeats the clip's tags.
type endless struct{ at int }

func (e *endless) Read(p []byte) (int, error) {
	if e.at == len(flvclip.File) {
		e.at = 13
	}
	n := copy(p[:min(len(p), 20_000)], flvclip.File[e.at:])
	e.at += n
	return n, nil
}

func TestDecoderAllocatesNothing(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("sync.Pool drops at random under the race detector, and checks allocate")
	}
	in := sluice.NewBufReader(new(endless))
	defer in.Recycle()
	d := flv.NewDecoder(in)
	if _, err := d.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	next := func() {
		tag, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		tag.Release()
	}
	for range 2000 {
		next()
	}
	if n := testing.AllocsPerRun(5000, next); n > 0 {
		t.Errorf("%v allocations a tag", n)
	}
}

// TestDecoderWaitsForABudget holds payloads until the decoder waits for
// memory, and lets them go then.
func TestDecoderWaitsForABudget(t *testing.T) {
	in := &sluice.BufReader{Allocator: mem.New(mem.Options{Name: t.Name(), Budget: 256 << 10})}
	sluicetest.NoLeaks(t, in.Allocator)
	in.Reset(bytes.NewReader(flvclip.File))
	defer in.Recycle()
	d := flv.NewDecoder(in)
	if _, err := d.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	var got []flat
	var mu sync.Mutex
	var held []flv.Tag
	letGo := func() {
		mu.Lock()
		defer mu.Unlock()
		for i := range held {
			got = append(got, flat{held[i].Header(), string(held[i].Payload.Bytes())})
			held[i].Release()
		}
		held = held[:0]
	}
	waits := 0
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				if in.Allocator.Stats().Budget.Waiting > 0 {
					waits++
					letGo()
				}
				runtime.Gosched()
			}
		}
	})
	for {
		tag, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		held = append(held, tag)
		mu.Unlock()
	}
	close(over)
	watching.Wait()
	letGo()
	if waits < 3 {
		t.Errorf("waited %d times: the budget was never used up", waits)
	}
	sameTags(t, "with a budget", got, walkClip())
}
