package mem_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// eachSplit calls f with data as a Memory in one, two and three parts, cut at
// every place.
func eachSplit(data []byte, f func(name string, m *mem.Memory)) {
	f("whole", split(data))
	for i := 1; i < len(data); i++ {
		f(fmt.Sprintf("split at %d", i), split(data, i))
		for j := i + 1; j < len(data); j++ {
			f(fmt.Sprintf("split at %d and %d", i, j), split(data, i, j))
		}
	}
}

func TestReaderKeepsTheContractOfReadersOnEverySplit(t *testing.T) {
	data := []byte("seventeen bytes..")
	eachSplit(data, func(name string, m *mem.Memory) {
		r := m.NewReader()
		if err := iotest.TestReader(&r, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	m := mem.NewMemory()
	r := m.NewReader()
	if err := iotest.TestReader(&r, nil); err != nil {
		t.Errorf("empty: %v", err)
	}
}

func TestSkipLandsWhereItShouldOnEverySplit(t *testing.T) {
	data := []byte("0123456789abcdefg")
	check := func(name string, m *mem.Memory) {
		for first := range len(data) + 1 {
			for second := range len(data) - first + 1 {
				r := m.NewReader()
				if err := errors.Join(r.Skip(first), r.Skip(second)); err != nil {
					t.Fatalf("%s: Skip(%d), Skip(%d): %v", name, first, second, err)
				}
				rest := make([]byte, 20)
				n, err := r.Read(rest)
				want := data[first+second:]
				if string(rest[:n]) != string(want) || (err == io.EOF) != (len(want) == 0) {
					t.Fatalf("%s: after Skip(%d), Skip(%d): %q and %v, want %q", name, first, second, rest[:n], err, want)
				}
			}
		}
	}
	eachSplit(data, check)
	check("2+10+5", split(data, 2, 12))
}

func TestNumbersAreReadAcrossParts(t *testing.T) {
	data := []byte{0x81, 0x02, 0xF3, 0x04, 0x95, 0x06, 0xA7, 0x08, 0x19}
	eachSplit(data, func(name string, m *mem.Memory) {
		for n := range 9 {
			var be, le uint64
			for i := range n {
				be = be<<8 | uint64(data[1+i])
				le |= uint64(data[1+i]) << (8 * i)
			}
			r := m.NewReader()
			if c, err := r.ReadByte(); c != data[0] || err != nil {
				t.Fatalf("%s: ReadByte: %#x, %v", name, c, err)
			}
			other := r // a bookmark
			if got, err := r.ReadBE(n); got != be || err != nil {
				t.Errorf("%s: ReadBE(%d): %#x, %v, want %#x", name, n, got, err, be)
			}
			if got, err := other.ReadLE(n); got != le || err != nil {
				t.Errorf("%s: ReadLE(%d): %#x, %v, want %#x", name, n, got, err, le)
			}
			if r.Length != 8-n || other.Length != 8-n {
				t.Errorf("%s: %d and %d bytes left after %d of 8", name, r.Length, other.Length, n)
			}
		}
	})
	r := split(data).NewReader()
	mustPanic(t, "ReadBE(9)", func() { r.ReadBE(9) }, "mem: MemoryReader.ReadBE(9)")
	mustPanic(t, "ReadLE(9)", func() { r.ReadLE(9) }, "mem: MemoryReader.ReadLE(9)")
}

func TestFailingReadsChangeNothing(t *testing.T) {
	none := func([]byte) { t.Error("yield was called by a call that fails") }
	calls := map[string]func(r *mem.MemoryReader, n int) error{
		"Skip":   func(r *mem.MemoryReader, n int) error { return r.Skip(n) },
		"RangeN": func(r *mem.MemoryReader, n int) error { return r.RangeN(n, none) },
		"ReadBE": func(r *mem.MemoryReader, n int) error { _, err := r.ReadBE(n); return err },
		"ReadLE": func(r *mem.MemoryReader, n int) error { _, err := r.ReadLE(n); return err },
	}
	eachSplit([]byte("0123456"), func(name string, m *mem.Memory) {
		for op, call := range calls {
			for _, used := range []int{0, 3, 6, 7} {
				r := m.NewReader()
				if err := r.Skip(used); err != nil {
					t.Fatal(err)
				}
				want := io.ErrUnexpectedEOF
				if used == 7 {
					want = io.EOF
				}
				before := r
				if err := call(&r, 8-used); err != want {
					t.Errorf("%s: %s(%d) with %d left: %v, want %v", name, op, 8-used, r.Length, err, want)
				}
				if err := call(&r, 8); err != want {
					t.Errorf("%s: %s(8) with %d left: %v, want %v", name, op, r.Length, err, want)
				}
				for _, n := range []int{-1, -1 << 31} {
					if err := call(&r, n); err != bufio.ErrNegativeCount {
						t.Errorf("%s: %s(%d): %v", name, op, n, err)
					}
				}
				if err := call(&r, 0); err != nil {
					t.Errorf("%s: %s(0) with %d left: %v", name, op, r.Length, err)
				}
				if r != before {
					t.Errorf("%s: a failing %s moved the reader", name, op)
				}
			}
		}
		r := m.NewReader()
		r.Skip(7)
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%s: ReadByte at the end: %v", name, err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%s: Read at the end: %d, %v", name, n, err)
		}
		r.Range(none)
	})
}

func TestRangesLendThePartsThemselves(t *testing.T) {
	data := []byte("0123456789")
	eachSplit(data, func(name string, m *mem.Memory) {
		for n := range len(data) - 1 {
			r := m.NewReader()
			r.Skip(2)
			var got []byte
			lend := func(p []byte) {
				at := 2 + len(got)
				if len(p) == 0 || &p[0] != &data[at] || cap(p) != len(p) {
					t.Errorf("%s: the part at %d is empty, a copy, or has room behind it", name, at)
				}
				got = append(got, p...)
			}
			if err := r.RangeN(n, lend); err != nil || string(got) != string(data[2:2+n]) {
				t.Errorf("%s: RangeN(%d) yields %q, %v", name, n, got, err)
			}
			r.Range(lend)
			if string(got) != string(data[2:]) || r.Length != 0 {
				t.Errorf("%s: Range after RangeN(%d) comes to %q", name, n, got)
			}
		}
	})
}

// Each step costs the same however many parts there are: neither the checks nor the
// list look at all of them.
func TestALongMemoryIsFilledReadAndClippedPartByPart(t *testing.T) {
	const n = 1 << 17
	byteOf := func(i int) byte { return byte(i>>8 ^ i) }
	m, freed := mem.NewMemory(), 0
	for i := range n {
		m.Append(mem.Wrap([]byte{byteOf(i)}, func() { freed++ }))
	}
	var first [1]byte
	r := m.NewReader()
	for i := range n {
		if m.CopyTo(first[:]); first[0] != byteOf(i) {
			t.Fatalf("byte %d is %d", i, first[0])
		}
		if c, err := r.ReadByte(); c != byteOf(i) || err != nil {
			t.Fatalf("byte %d is read as %d, %v", i, c, err)
		}
		var next *[]byte
		if n-i > 1<<16 {
			next = &m.Buffers[1]
		}
		if r.ClipFront() != 1 || freed != i+1 || m.Size != n-i-1 {
			t.Fatalf("after %d bytes were clipped %d are released and %d left", i+1, freed, m.Size)
		}
		if next != nil && next != &m.Buffers[0] {
			t.Fatalf("clipping part %d moved the %d behind it", i, len(m.Buffers))
		}
	}
	m.Release()
}

func TestClipFrontReleasesWhatWasRead(t *testing.T) {
	whole := "aabbbcdddd"
	for first := range len(whole) + 1 {
		for second := range len(whole) - first + 1 {
			m, freed := counted("aa", "bbb", "c", "dddd")
			r := m.NewReader()
			r.Skip(first)
			if n := r.ClipFront(); n != first {
				t.Errorf("ClipFront after %d bytes drops %d", first, n)
			}
			r.Skip(second)
			if n := r.ClipFront(); n != second {
				t.Errorf("ClipFront after %d more bytes drops %d", second, n)
			}
			if n := r.ClipFront(); n != 0 {
				t.Errorf("ClipFront with nothing read drops %d", n)
			}
			at := first + second
			if string(m.Bytes()) != whole[at:] || m.Size != len(whole)-at || r.Length != m.Size {
				t.Errorf("clipped by %d: %q, size %d, %d to read", at, m.Bytes(), m.Size, r.Length)
			}
			for i, end := range []int{2, 5, 6, 10} {
				if want := at >= end; want != (freed[i] == 1) || freed[i] > 1 {
					t.Errorf("clipped by %d: part %d was released %d times", at, i, freed[i])
				}
			}
			m.Append(mem.Wrap([]byte("tail"), nil))
			rest, err := io.ReadAll(&r)
			if string(rest) != whole[at:] || err != nil {
				t.Errorf("clipped by %d: the reader goes on with %q, %v", at, rest, err)
			}
			if string(m.Bytes()) != whole[at:]+"tail" {
				t.Errorf("clipped by %d and appended: %q", at, m.Bytes())
			}
			m.Release()
			if fmt.Sprint(freed) != "[1 1 1 1]" {
				t.Errorf("clipped by %d: released %v", at, freed)
			}
		}
	}
}

func TestAReaderOfAReleasedMemoryPanics(t *testing.T) {
	none := func([]byte) {}
	calls := map[string]func(r *mem.MemoryReader){
		"Read":      func(r *mem.MemoryReader) { r.Read(nil) },
		"ReadByte":  func(r *mem.MemoryReader) { r.ReadByte() },
		"ReadBE":    func(r *mem.MemoryReader) { r.ReadBE(1) },
		"ReadLE":    func(r *mem.MemoryReader) { r.ReadLE(1) },
		"Skip":      func(r *mem.MemoryReader) { r.Skip(0) },
		"Range":     func(r *mem.MemoryReader) { r.Range(none) },
		"RangeN":    func(r *mem.MemoryReader) { r.RangeN(1, none) },
		"ClipFront": func(r *mem.MemoryReader) { r.ClipFront() },
	}
	for name, call := range calls {
		m := split([]byte("ab"), 1)
		r := m.NewReader()
		m.Release()
		mustPanic(t, name+" after Release", func() { call(&r) }, "mem: MemoryReader."+name+": the Memory was released")
		mustPanic(t, name+" of the zero reader", func() { call(new(mem.MemoryReader)) }, "mem: MemoryReader."+name+": ")
	}
}

// followReader reads data, in the parts that cuts make, by script, beside a
// bytes.Reader over the same bytes.
func followReader(t *testing.T, data, cuts, script []byte) {
	var at []int
	for i, from := 0, 0; i < len(cuts); i++ {
		from += int(cuts[i])
		if from > len(data) {
			break
		}
		at = append(at, from)
	}
	m := split(bytes.Clone(data), at...)
	r, model := m.NewReader(), bytes.NewReader(data)
	for len(script) >= 2 {
		op, n := script[0], int(int8(script[1]))
		script = script[2:]
		left := model.Len()
		var fail error
		switch {
		case n < 0:
			fail = bufio.ErrNegativeCount
		case n > left && left == 0:
			fail = io.EOF
		case n > left:
			fail = io.ErrUnexpectedEOF
		}
		want := make([]byte, max(n, 0))
		take := func(err error) bool { // the model's part of a call that wants n bytes
			if err != fail {
				t.Fatalf("op %d, n %d, %d left: %v, want %v", op%8, n, left, err, fail)
			}
			if err == nil {
				io.ReadFull(model, want)
			}
			return err == nil
		}
		switch op % 8 {
		case 0:
			p := make([]byte, max(n, 0))
			k, err := r.Read(p)
			j, modelErr := model.Read(want)
			if n <= 0 {
				j, modelErr = 0, nil
			}
			if k != j || err != modelErr || !bytes.Equal(p[:k], want[:j]) {
				t.Fatalf("Read(%d): %d %q %v, want %d %q %v", n, k, p[:k], err, j, want[:j], modelErr)
			}
		case 1:
			c, err := r.ReadByte()
			d, modelErr := model.ReadByte()
			if c != d || err != modelErr {
				t.Fatalf("ReadByte: %d %v, want %d %v", c, err, d, modelErr)
			}
		case 2, 3:
			if n > 8 {
				continue
			}
			var v, w uint64
			var err error
			if op%8 == 2 {
				v, err = r.ReadBE(n)
			} else {
				v, err = r.ReadLE(n)
			}
			if !take(err) {
				break
			}
			for i, c := range want {
				if op%8 == 2 {
					w = w<<8 | uint64(c)
				} else {
					w |= uint64(c) << (8 * i)
				}
			}
			if v != w {
				t.Fatalf("op %d of %d bytes: %#x, want %#x", op%8, n, v, w)
			}
		case 4:
			take(r.Skip(n))
		case 5:
			var got []byte
			if take(r.RangeN(n, func(p []byte) { got = append(got, p...) })) && !bytes.Equal(got, want) {
				t.Fatalf("RangeN(%d): %q, want %q", n, got, want)
			}
		case 6:
			if read := m.Size - left; r.ClipFront() != read {
				t.Fatalf("ClipFront of %d bytes drops others", read)
			}
		case 7:
			if !bytes.Equal(m.RetainedSlice(m.Size-left, m.Size).Bytes(), data[len(data)-left:]) {
				t.Fatal("the Memory lost bytes")
			}
		}
		if r.Length != model.Len() {
			t.Fatalf("op %d, n %d: %d bytes are left, want %d", op%8, n, r.Length, model.Len())
		}
	}
	m.Release()
}

func TestReaderFollowsBytesReaderOnRandomSplits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(sluicetest.Seed(t), 2))
	noise := func(n, below int) []byte {
		p := make([]byte, rnd.IntN(n))
		for i := range p {
			p[i] = byte(rnd.IntN(below))
		}
		return p
	}
	for range 2000 {
		script := noise(80, 256)
		for i := 1; i < len(script); i += 2 {
			if rnd.IntN(8) > 0 {
				script[i] %= 12
			}
		}
		followReader(t, noise(100, 256), noise(20, 12), script)
		if rnd.IntN(4) == 0 { // parts beyond what is moved to the front of the list
			followReader(t, noise(600, 256), noise(400, 3), script)
		}
	}
}

func FuzzMemoryReader(f *testing.F) {
	f.Add([]byte("seventeen bytes.."), []byte{2, 10, 5}, []byte{4, 2, 4, 10, 4, 5, 4, 1})
	f.Add([]byte("0123456789"), []byte{1, 0, 0, 3}, []byte{2, 8, 6, 0, 3, 2, 3, 1, 7, 0})
	f.Add([]byte(""), []byte{}, []byte{0, 4, 1, 0, 5, 255})
	f.Fuzz(followReader)
}

func TestRangeWithANilFunctionPanics(t *testing.T) {
	m := mem.NewMemory(mem.Wrap([]byte("ab"), nil), mem.Wrap([]byte("c"), nil))
	defer m.Release()
	r := m.NewReader()
	mustPanic(t, "Range(nil)", func() { r.Range(nil) }, "mem: MemoryReader.Range with a nil function")
	mustPanic(t, "RangeN(2, nil)", func() { _ = r.RangeN(2, nil) }, "mem: MemoryReader.RangeN with a nil function")
	if r.Length != 3 {
		t.Errorf("after that %d bytes are left", r.Length)
	}
}
