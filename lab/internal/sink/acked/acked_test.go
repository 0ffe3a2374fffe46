package acked_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice/lab/internal/sink/acked"
)

type entry struct {
	index       uint64
	crc, length uint32
}

func read(r io.Reader) (list []entry, err error) {
	err = acked.Read(r, func(index uint64, crc, length uint32) error {
		list = append(list, entry{index, crc, length})
		return nil
	})
	return list, err
}

func Example() {
	var file bytes.Buffer
	w := acked.NewWriter(&file)
	w.Append(7, 0xcafe, 128)
	w.Flush()
	acked.Read(&file, func(index uint64, crc, length uint32) error {
		fmt.Printf("%d %x %d\n", index, crc, length)
		return nil
	})
	// Output: 7 cafe 128
}

// head is how a file begins.
const head = "sluice lab acks\n"

func TestAForeignFileIsNone(t *testing.T) {
	for _, text := range []string{"{", "#!/bin/sh\n", "0123456789abcdef0123456789abcdef", head[:15] + "2" + head} {
		if list, err := read(strings.NewReader(text)); !errors.Is(err, acked.ErrForm) || len(list) > 0 {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
}

func TestTheFormIsSixteenBytesBigEndian(t *testing.T) {
	var file bytes.Buffer
	w := acked.NewWriter(&file)
	if err := errors.Join(w.Append(0x0102030405060708, 0x11121314, 0x21222324), w.Flush()); err != nil {
		t.Fatal(err)
	}
	want := append([]byte(head), []byte{1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24}...)
	if !bytes.Equal(file.Bytes(), want) {
		t.Errorf("% x", file.Bytes())
	}
}

func TestATornLastEntryIsLeftOut(t *testing.T) {
	var file bytes.Buffer
	w := acked.NewWriter(&file)
	var want []entry
	for i := range 5 {
		e := entry{uint64(i), uint32(i * 2), uint32(i * 3)}
		want = append(want, e)
		w.Append(e.index, e.crc, e.length)
	}
	w.Flush()
	for length := range file.Len() + 1 {
		part := file.Bytes()[:length]
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(part), "bytes": iotest.OneByteReader(bytes.NewReader(part)), "with EOF": iotest.DataErrReader(bytes.NewReader(part)),
		} {
			got, err := read(r)
			if err != nil || !slices.Equal(got, want[:max(0, length/acked.Size-1)]) {
				t.Errorf("%s, %d bytes: %v, %v", name, length, got, err)
			}
		}
	}
}

func TestErrorsAreReturned(t *testing.T) {
	broken := errors.New("broken")
	if _, err := read(io.MultiReader(strings.NewReader(head+"0123"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("of the reader: %v", err)
	}
	err := acked.Read(strings.NewReader(head+strings.Repeat("x", 64)), func(uint64, uint32, uint32) error { return broken })
	if err != broken {
		t.Errorf("of the function: %v", err)
	}
	w := acked.NewWriter(failing{broken})
	err = nil
	for i := 0; err == nil && i < 100_000; i++ {
		err = w.Append(1, 2, 3)
	}
	if !errors.Is(err, broken) || !errors.Is(w.Flush(), broken) {
		t.Errorf("of the writer: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func FuzzRead(f *testing.F) {
	f.Add([]byte(head + "0123456789abcdef0123456"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := read(bytes.NewReader(data))
		if errors.Is(err, acked.ErrForm) || len(data) < len(head) {
			return
		}
		if err != nil || len(list) != len(data)/acked.Size-1 {
			t.Fatalf("%d entries of %d bytes, %v", len(list), len(data), err)
		}
		var again bytes.Buffer
		w := acked.NewWriter(&again)
		for _, e := range list {
			w.Append(e.index, e.crc, e.length)
		}
		w.Flush()
		if !bytes.Equal(again.Bytes(), data[:(len(list)+1)*acked.Size]) {
			t.Fatal("written again it is something else")
		}
	})
}
