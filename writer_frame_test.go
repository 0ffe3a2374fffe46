package sluice_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// frameForm is a way to write a length before a frame. The head is made here
// without the help of the code that is tested.
type frameForm struct {
	name   string
	prefix int
	order  binary.ByteOrder
	most   int // the longest frame
	head   func(p []byte, n int) []byte
}

var frameForms = []frameForm{
	{"varint", 0, nil, math.MaxInt32, func(p []byte, n int) []byte { return binary.AppendUvarint(p, uint64(n)) }},
	{"varint, order ignored", 0, binary.BigEndian, math.MaxInt32, func(p []byte, n int) []byte { return binary.AppendUvarint(p, uint64(n)) }},
	{"1", 1, nil, 255, func(p []byte, n int) []byte { return append(p, byte(n)) }},
	{"1 big", 1, binary.BigEndian, 255, func(p []byte, n int) []byte { return append(p, byte(n)) }},
	{"2 big", 2, binary.BigEndian, 65535, func(p []byte, n int) []byte { return binary.BigEndian.AppendUint16(p, uint16(n)) }},
	{"2 little", 2, binary.LittleEndian, 65535, func(p []byte, n int) []byte { return binary.LittleEndian.AppendUint16(p, uint16(n)) }},
	{"2 native", 2, binary.NativeEndian, 65535, func(p []byte, n int) []byte { return binary.NativeEndian.AppendUint16(p, uint16(n)) }},
	{"3 big", 3, binary.BigEndian, 1<<24 - 1, func(p []byte, n int) []byte { return append(p, byte(n>>16), byte(n>>8), byte(n)) }},
	{"3 little", 3, binary.LittleEndian, 1<<24 - 1, func(p []byte, n int) []byte { return append(p, byte(n), byte(n>>8), byte(n>>16)) }},
	{"4 big", 4, binary.BigEndian, math.MaxInt32, func(p []byte, n int) []byte { return binary.BigEndian.AppendUint32(p, uint32(n)) }},
	{"4 little", 4, binary.LittleEndian, math.MaxInt32, func(p []byte, n int) []byte { return binary.LittleEndian.AppendUint32(p, uint32(n)) }},
	{"4 native", 4, binary.NativeEndian, math.MaxInt32, func(p []byte, n int) []byte { return binary.NativeEndian.AppendUint32(p, uint32(n)) }},
}

// frameSizes are lengths beside each border that a prefix, a varint and the
// writer have.
var frameSizes = []int{0, 1, 100, 127, 128, 255, 256, 4095, 4096, 16383, 16384, 65535, 65536, 1<<24 - 1, 1 << 24}

func TestWriterFramesComeBackFromAReader(t *testing.T) {
	data := testData(1 << 24)
	for _, f := range frameForms {
		t.Run(f.name, func(t *testing.T) {
			a := paranoid(t)
			var out bytes.Buffer
			w := writerOf(t, a, 0, &out)
			var sizes []int
			for _, n := range frameSizes {
				if n <= f.most && (n < 1<<20 || !sys.Race) {
					sizes = append(sizes, n)
					if err := w.WriteFrame(f.prefix, f.order, mem.Wrap(data[:n], nil)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			rest := out.Bytes()
			for _, n := range sizes {
				head := f.head(nil, n)
				if len(rest) < len(head)+n || !bytes.Equal(rest[:len(head)], head) || !bytes.Equal(rest[len(head):len(head)+n], data[:n]) {
					t.Fatalf("a frame of %d bytes is not there", n)
				}
				rest = rest[len(head)+n:]
			}
			if len(rest) != 0 {
				t.Errorf("%d bytes too many", len(rest))
			}
			readFrames(t, readerOf(t, a, 0, &out), f, data, sizes)
		})
	}
}

func TestWriterRefusesFramesThatAreTooLongForTheirPrefix(t *testing.T) {
	for _, f := range frameForms {
		if f.most > 1<<25 {
			continue
		}
		var out bytes.Buffer
		w := writerOf(t, paranoid(t), 0, &out)
		freed := 0
		err := w.WriteFrame(f.prefix, f.order, mem.Wrap(make([]byte, f.most+1), func() { freed++ }))
		var e *sluice.Error
		if !errors.As(err, &e) || !errors.Is(err, sluice.ErrTooLong) || sluice.LimitOf(e) != int64(f.most) || sluice.GotOf(e) != int64(f.most)+1 {
			t.Errorf("%s: %v", f.name, err)
		}
		if freed != 1 || w.Buffered() != 0 {
			t.Errorf("%s: released %d times, %d bytes wait", f.name, freed, w.Buffered())
		}
		// The writer goes on.
		if err := errors.Join(w.WriteFrame(1, nil, mem.Wrap([]byte("on"), nil)), w.Flush()); err != nil || out.String() != "\x02on" {
			t.Errorf("%s: then %q, %v", f.name, out.String(), err)
		}
	}
}

func TestWriterFrameIsReleasedAlsoWhenItFails(t *testing.T) {
	for _, n := range []int{10, 300_000} {
		for left := range 4 {
			w := writerOf(t, paranoid(t), 2, &limited{left: left, err: errSink})
			freed := 0
			err := errors.Join(w.WriteFrame(4, binary.BigEndian, mem.Wrap(make([]byte, n), func() { freed++ })), w.Flush())
			if !errors.Is(err, errSink) || freed != 1 {
				t.Errorf("%d bytes, the sink takes %d: released %d times, %v", n, left, freed, err)
			}
		}
		w := writerOf(t, paranoid(t), 0, io.Discard)
		w.Recycle()
		freed := 0
		if err := w.WriteFrame(1, nil, mem.Wrap(make([]byte, n), func() { freed++ })); err != sluice.ErrClosed || freed != 1 {
			t.Errorf("%d bytes, recycled: released %d times, %v", n, freed, err)
		}
	}
}

func TestWriterGathersTheHeadOfAFrameAndItsBytes(t *testing.T) {
	gathering(t, func(t *testing.T, c net.Conn) {
		a := mem.New(mem.Options{})
		w := writerOf(t, a, 0, c)
		n := fewestCalls(t, func() {
			for _, n := range []int{100, 20_000, 3000, 50_000} {
				_ = w.WriteFrame(4, binary.BigEndian, a.Get(n))
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		})
		if n != 1 {
			t.Errorf("%d writing system calls for four frames", n)
		}
	})
}

func TestWriterFramesWithAWrongPrefixPanic(t *testing.T) {
	var out bytes.Buffer
	w := writerOf(t, paranoid(t), 0, &out)
	for _, c := range []struct {
		prefix int
		order  binary.ByteOrder
	}{{-1, binary.BigEndian}, {5, binary.BigEndian}, {8, binary.LittleEndian}, {2, nil}, {3, nil}, {4, nil}} {
		p := mem.Wrap([]byte("four"), nil)
		text := panicOf(func() { _ = w.WriteFrame(c.prefix, c.order, p) })
		if !strings.HasPrefix(text, "sluice: BufWriter.WriteFrame(") || w.Buffered() != 0 || !p.Valid() {
			t.Errorf("prefix %d: panic %q, %d bytes wait", c.prefix, text, w.Buffered())
		}
		p.Release()
	}
}

// FuzzWriteFrame writes a frame and reads it again.
func FuzzWriteFrame(f *testing.F) {
	for i := range frameForms {
		f.Add(uint8(i), uint16(0), []byte("some bytes"))
		f.Add(uint8(i), uint16(5000), []byte{})
	}
	f.Fuzz(func(t *testing.T, form uint8, bound uint16, data []byte) {
		c := frameForms[int(form)%len(frameForms)]
		var out bytes.Buffer
		w := writerOf(t, paranoid(t), int(bound), &out)
		var want []byte
		for _, p := range [][]byte{data, data[:len(data)/2], nil, data} {
			err := w.WriteFrame(c.prefix, c.order, mem.Wrap(bytes.Clone(p), nil))
			if len(p) > c.most != errors.Is(err, sluice.ErrTooLong) || err != nil && len(p) <= c.most {
				t.Fatalf("%d bytes: %v", len(p), err)
			}
			if err == nil {
				want = append(c.head(want, len(p)), p...)
			}
		}
		if err := w.Flush(); err != nil || !bytes.Equal(out.Bytes(), want) {
			t.Fatalf("%d bytes of %d, %v", out.Len(), len(want), err)
		}
	})
}
