package sluice_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// The Go of docs/migrating/README.md, word for word, with examples that run it. A test
// in internal/policy holds the two together.

// offer is a Feed that never waits: it sends p, transferred, if there is room in
// the channel, and reports whether it did. mouth is the reader's Mouth. Once the
// reader is recycled no goroutine makes room any more.
func offer(mouth chan<- []byte, p []byte) bool {
	select {
	case mouth <- p:
		return true
	default:
		return false
	}
}

// readerOfLists returns a reader of the slices in the lists that come from in,
// which are transferred.
func readerOfLists(in <-chan net.Buffers) *sluice.BufReader {
	r := sluice.NewBufReaderChan(16)
	mouth := r.Mouth
	go func() {
		defer close(mouth) // io.EOF
		for list := range in {
			for _, p := range list {
				if r.Feed(p) != nil {
					return // recycled
				}
			}
		}
	}()
	return r
}

// readInto fills p, and consumes nothing when that fails.
func readInto(r *sluice.BufReader, p []byte) error {
	q, err := r.Next(len(p))
	copy(p, q)
	return err
}

// readText is ReadString of n bytes.
func readText(r *sluice.BufReader, n int) (string, error) {
	p, err := r.Next(n)
	return string(p), err
}

func Example_fromMonibuca() {
	r := sluice.NewBufReaderChan(1)
	fmt.Println(offer(r.Mouth, []byte("one")), offer(r.Mouth, []byte("two")))
	one := make([]byte, 3)
	fmt.Println(readInto(r, one), string(one), offer(r.Mouth, []byte("two")))
	r.Recycle()

	lists := make(chan net.Buffers, 1)
	lists <- net.Buffers{[]byte("th"), []byte("ree")}
	close(lists)
	r = readerOfLists(lists)
	defer r.Recycle()
	text, err := readText(r, 5)
	_, end := readText(r, 1)
	fmt.Println(text, err, end)
	// Output:
	// true false
	// <nil> one true
	// three <nil> EOF
}

// message is what a RecyclableMemory is made for: a head that is written here and
// a body of foreign bytes, transferred. It is retained; Release is its Recycle.
func message(a *mem.Allocator, kind byte, body []byte) *mem.Memory {
	head := a.Get(5) // memory to write into
	head.Bytes()[0] = kind
	binary.BigEndian.PutUint32(head.Bytes()[1:], uint32(len(body)))
	m := mem.NewMemory(head)
	m.Append(mem.Wrap(body, nil)) // PushOne
	return m
}

// hold makes p, which Malloc returned, a Buf: its last Release is the Free.
func hold(a *mem.Allocator, p []byte) mem.Buf {
	return mem.Wrap(p, func() { _ = a.Free(p) })
}

// received returns what one read brings, retained. A FreeRest is not needed: few
// bytes move to a small block, and many may keep theirs.
func received(a *mem.Allocator, src io.Reader) (mem.Buf, error) {
	s := a.Slab(64 << 10)
	defer s.Release()
	n, err := src.Read(s.Bytes())
	if n == 0 {
		return mem.Buf{}, err
	}
	b := s.Cut(0, n)
	b.Compact()
	return b, err
}

// unitSize reads the LEB128 number at the front of m and returns where the unit
// begins that it is the size of.
func unitSize(m *mem.Memory) (size uint64, offset int, err error) {
	r := m.NewReader()
	start := r // Unread is r = start
	size, err = binary.ReadUvarint(&r)
	if err != nil {
		r = start
	}
	return size, m.Size - r.Length, err
}

func Example_fromGoMem() {
	a := mem.New(mem.Options{Name: "migrating"})
	m := message(a, 'x', []byte("body"))
	fmt.Printf("%q %d parts\n", m.Bytes(), len(m.Buffers))
	m.Release()

	b := hold(a, a.Malloc(100))
	b.Release()

	b, err := received(a, strings.NewReader("a few bytes"))
	fmt.Printf("%q %v %d out\n", b.Bytes(), err, a.Stats().OutBytes)
	b.Release()
	_, err = received(a, strings.NewReader(""))
	fmt.Println(err, a.Stats().CheckedOut)

	m = mem.NewMemory(mem.Wrap(binary.AppendUvarint(nil, 300), nil), mem.Wrap([]byte("unit"), nil))
	fmt.Println(unitSize(m))
	m.Release()
	m = mem.NewMemory(mem.Wrap([]byte{0x80, 0x80}, nil))
	_, at, err := unitSize(m)
	fmt.Println(at, errors.Is(err, io.ErrUnexpectedEOF))
	m.Release()
	// Output:
	// "x\x00\x00\x00\x04body" 2 parts
	// "a few bytes" <nil> 256 out
	// EOF 0
	// 300 2 <nil>
	// 0 true
}

// eachLine is a loop of bufio.Scanner: a last line needs no end. It passes over
// lines that are too long, as far as Options.Frame goes; ReadLineSlice alone
// would return ErrTooLong again and again. What line gets is borrowed.
func eachLine(r *sluice.BufReader, line func([]byte)) error {
	for {
		p, err := r.ReadLineSlice()
		if errors.Is(err, sluice.ErrTooLong) {
			_, err = r.ReadSlice('\n')
		} else if err == nil || len(p) > 0 { // after a line without its end io.EOF comes next
			line(p)
			err = nil
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func Example_eachLine() {
	text := "one\n" + strings.Repeat("x", 100) + "\ntwo\r\n\nthree"
	r := sluice.NewBufReader(strings.NewReader(text), sluice.Options{Line: 16})
	defer r.Recycle()
	err := eachLine(r, func(p []byte) { fmt.Printf("%q\n", p) })
	fmt.Println(err)
	// Output:
	// "one"
	// "two"
	// ""
	// "three"
	// <nil>
}
