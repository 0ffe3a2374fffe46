package sluice_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice"
)

func TestNumbersOfOneToFourBytes(t *testing.T) {
	const text = "\x81\x02\xfe\x04\x7f\x80"
	for n := 1; n <= 4; n++ {
		for at := range len(text) - n + 1 {
			for _, one := range []bool{false, true} {
				open := func() *sluice.BufReader {
					src := strings.NewReader(text)
					r := readerOf(t, paranoid(t), 16, src)
					if one {
						r.Reset(iotest.OneByteReader(src))
					}
					if err := r.Skip(at); err != nil {
						t.Fatal(err)
					}
					return r
				}
				var be, le uint32
				for i := range n {
					be = be<<8 | uint32(text[at+i])
					le |= uint32(text[at+i]) << (8 * i)
				}
				if v, err := open().ReadBE32(n); v != be || err != nil {
					t.Errorf("ReadBE32(%d) at %d: %#x, %v; want %#x", n, at, v, err, be)
				}
				if v, err := open().ReadLE32(n); v != le || err != nil {
					t.Errorf("ReadLE32(%d) at %d: %#x, %v; want %#x", n, at, v, err, le)
				}
				if uint64(be) <= math.MaxInt {
					if v, err := open().ReadBE(n); uint64(v) != uint64(be) || err != nil {
						t.Errorf("ReadBE(%d) at %d: %#x, %v; want %#x", n, at, v, err, be)
					}
				}
			}
		}
	}
}

func TestNumberThatDoesNotFitAnInt(t *testing.T) {
	r := readerOf(t, paranoid(t), 0, strings.NewReader("\xff\xff\xff\xff"))
	v, err := r.ReadBE(4)
	if uint64(math.MaxUint32) <= math.MaxInt {
		if uint64(v) != math.MaxUint32 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		return
	}
	if !errors.Is(err, sluice.ErrTooLong) || r.Buffered() != 4 {
		t.Errorf("%d, %v, %d bytes are left", v, err, r.Buffered())
	}
	if v, err := r.ReadBE32(4); v != math.MaxUint32 || err != nil {
		t.Errorf("ReadBE32 instead: %d, %v", v, err)
	}
}

func TestWrongCountsOfCallersPanic(t *testing.T) {
	for _, n := range []int{-1, 0, 5, 8, math.MaxInt, math.MinInt} {
		for name, call := range map[string]func(r *sluice.BufReader){
			"ReadBE":   func(r *sluice.BufReader) { _, _ = r.ReadBE(n) },
			"ReadBE32": func(r *sluice.BufReader) { _, _ = r.ReadBE32(n) },
			"ReadLE32": func(r *sluice.BufReader) { _, _ = r.ReadLE32(n) },
		} {
			r := readerOf(t, paranoid(t), 0, strings.NewReader("0123456789"))
			text := panicOf(func() { call(r) })
			if !strings.HasPrefix(text, "sluice: ") || !strings.Contains(text, fmt.Sprintf("%s(%d)", name, n)) {
				t.Errorf("%s(%d): panic %q", name, n, text)
			}
		}
	}
}
