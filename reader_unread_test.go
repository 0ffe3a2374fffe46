package sluice_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice"
)

func refusesUnread(t *testing.T, r *sluice.BufReader, when string) {
	t.Helper()
	if err := r.UnreadByte(); err != bufio.ErrInvalidUnreadByte {
		t.Fatalf("UnreadByte %s: %v, want %v", when, err, bufio.ErrInvalidUnreadByte)
	}
}

func TestUnreadByteTakesBackOneByteOnce(t *testing.T) {
	for _, bufLen := range []int{0, 16, 4096} {
		for _, one := range []bool{false, true} {
			t.Run(fmt.Sprintf("BufLen %d, one byte a Read %v", bufLen, one), func(t *testing.T) {
				const text = "0123456789abcdefghijklmnopqrstuvwxyz"
				var src io.Reader = strings.NewReader(text)
				if one {
					src = iotest.OneByteReader(src)
				}
				r := readerOf(t, paranoid(t), bufLen, src)
				refusesUnread(t, r, "before the first byte")
				for i := range len(text) {
					mustReadByte(t, r, text[i])
					if err := r.UnreadByte(); err != nil {
						t.Fatalf("UnreadByte of byte %d: %v", i, err)
					}
					refusesUnread(t, r, "a second time")
					mustReadByte(t, r, text[i])
				}
				if _, err := r.ReadByte(); err != io.EOF {
					t.Fatalf("ReadByte at the end: %v", err)
				}
				if err := r.UnreadByte(); err != nil {
					t.Fatalf("UnreadByte at the end: %v", err)
				}
				mustReadByte(t, r, 'z')
				if _, err := r.ReadByte(); err != io.EOF {
					t.Fatalf("ReadByte at the end: %v", err)
				}
			})
		}
	}
}

func TestUnreadByteIsRefusedAfterCallsThatDoNotRead(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader)
	}{
		{"Peek", func(r *sluice.BufReader) { _, _ = r.Peek(2) }},
		{"Peek of nothing", func(r *sluice.BufReader) { _, _ = r.Peek(0) }},
		{"Peek beyond the end", func(r *sluice.BufReader) { _, _ = r.Peek(100) }},
		{"Discard", func(r *sluice.BufReader) { _, _ = r.Discard(2) }},
		{"Discard beyond the end", func(r *sluice.BufReader) { _, _ = r.Discard(100) }},
		{"WriteTo", func(r *sluice.BufReader) { _, _ = r.WriteTo(io.Discard) }},
		{"WriteTo of nothing", func(r *sluice.BufReader) {
			_ = r.Skip(9)
			_, _ = r.WriteTo(io.Discard)
		}},
		{"UnreadByte", func(r *sluice.BufReader) { _ = r.UnreadByte() }},
		{"Mark", func(r *sluice.BufReader) { r.Mark() }},
		{"Rollback", func(r *sluice.BufReader) {
			r.Mark()
			_, _ = r.ReadByte()
			r.Rollback()
		}},
		{"Reset", func(r *sluice.BufReader) { r.Reset(strings.NewReader("new")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readerOf(t, paranoid(t), 0, strings.NewReader("0123456789"))
			mustReadByte(t, r, '0')
			c.call(r)
			refusesUnread(t, r, "after "+c.name)
		})
	}
}

func TestUnreadByteIsGrantedAfterCallsThatDoNothing(t *testing.T) {
	type scanner interface {
		io.ByteScanner
		Discard(n int) (int, error)
		Peek(n int) ([]byte, error)
	}
	for _, c := range []struct {
		name string
		call func(r scanner) error
		want error
	}{
		{"Discard(0)", func(r scanner) error { _, err := r.Discard(0); return err }, nil},
		{"Discard(-1)", func(r scanner) error { _, err := r.Discard(-1); return err }, bufio.ErrNegativeCount},
		{"Peek(-1)", func(r scanner) error { _, err := r.Peek(-1); return err }, bufio.ErrNegativeCount},
	} {
		for _, r := range []scanner{
			bufio.NewReader(strings.NewReader("ab")), readerOf(t, paranoid(t), 0, strings.NewReader("ab")),
		} {
			_, _ = r.ReadByte()
			if err := c.call(r); err != c.want {
				t.Errorf("%T: %s: %v, want %v", r, c.name, err, c.want)
			}
			if err := r.UnreadByte(); err != nil {
				t.Errorf("%T: UnreadByte after %s: %v", r, c.name, err)
			}
		}
	}
}

func TestUnreadByteIsGrantedAfterEveryCallThatReads(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader)
	}{
		{"Next", func(r *sluice.BufReader) { _, _ = r.Next(4) }},
		{"Next that failed", func(r *sluice.BufReader) {
			_, _ = r.Next(4)
			_, _ = r.Next(100)
		}},
		{"Skip of what is in view", func(r *sluice.BufReader) {
			_, _ = r.Peek(4)
			_ = r.Skip(4)
		}},
		{"ReadBuf", func(r *sluice.BufReader) {
			b, _ := r.ReadBuf(4)
			b.Release()
		}},
		{"ReadBytes", func(r *sluice.BufReader) {
			m, _ := r.ReadBytes(4)
			m.Release()
		}},
		{"ReadRange", func(r *sluice.BufReader) { _ = r.ReadRange(4, func([]byte) {}) }},
		{"Skip", func(r *sluice.BufReader) { _ = r.Skip(4) }},
		{"ReadBE", func(r *sluice.BufReader) { _, _ = r.ReadBE(4) }},
		{"ReadLE32", func(r *sluice.BufReader) { _, _ = r.ReadLE32(4) }},
		{"ReadSlice", func(r *sluice.BufReader) { _, _ = r.ReadSlice('\n') }},
		{"ReadLine", func(r *sluice.BufReader) { _, _ = r.ReadLine() }},
		{"Read", func(r *sluice.BufReader) { _, _ = io.ReadFull(r, make([]byte, 4)) }},
	} {
		for _, one := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/one byte a Read %v", c.name, one), func(t *testing.T) {
				var src io.Reader = strings.NewReader("012\n456789")
				if one {
					src = iotest.OneByteReader(src)
				}
				r := readerOf(t, paranoid(t), 16, src)
				c.call(r)
				if err := r.UnreadByte(); err != nil {
					t.Fatal(err)
				}
				mustReadByte(t, r, '\n')
				mustReadByte(t, r, '4')
			})
		}
	}
}

func TestUnreadByteAfterTheWindowMovedInItsBlock(t *testing.T) {
	r := readerOf(t, paranoid(t), 16, strings.NewReader("0123456789abcdef"))
	if _, err := r.Next(4); err != nil {
		t.Fatal(err)
	}
	// 12 bytes are there, 14 do not fit behind the first 4, so the 12 move.
	if _, err := r.Next(14); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if err := r.UnreadByte(); err != nil {
		t.Fatal(err)
	}
	mustReadByte(t, r, '3')
	mustReadByte(t, r, '4')
}

func TestUnreadByteAfterAMemoryOfManyBlocks(t *testing.T) {
	data := testData(300_000)
	r := readerOf(t, paranoid(t), 0, bytes.NewReader(data))
	m, err := r.ReadBytes(200_001)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.UnreadByte(); err != nil {
		t.Fatal(err)
	}
	mustReadByte(t, r, data[200_000])
	mustReadByte(t, r, data[200_001])
	if !bytes.Equal(m.Bytes(), data[:200_001]) {
		t.Error("UnreadByte has changed what was handed out")
	}
	m.Release()
}

// TestUnreadByteOfAnyValue though the memory that it was in is gone.
func TestUnreadByteOfAnyValue(t *testing.T) {
	for c := range 256 {
		r := readerOf(t, paranoid(t), 0, bytes.NewReader([]byte{byte(c)}))
		mustReadByte(t, r, byte(c))
		if _, err := r.ReadByte(); err != io.EOF {
			t.Fatal(err)
		}
		if err := r.UnreadByte(); err != nil {
			t.Fatalf("%#x: %v", c, err)
		}
		mustReadByte(t, r, byte(c))
	}
}
