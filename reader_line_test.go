package sluice_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestLinesEndInLFOrCRLF(t *testing.T) {
	const text = "one\ntwo\r\n\n\r\nthree\rstill three\r\r\n \t\nfour"
	want := []string{"one", "two", "", "", "three\rstill three\r", " \t"}
	for name, src := range sluicetest.Chunkings([]byte(text)) {
		r := readerOf(t, paranoid(t), 16, src)
		for i, line := range want {
			if got, err := r.ReadLine(); got != line || err != nil {
				t.Fatalf("%s: line %d: %q, %v; want %q", name, i, got, err, line)
			}
		}
		if got, err := r.ReadLine(); got != "four" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%s: the line without end: %q, %v", name, got, err)
		}
		if got, err := r.ReadLine(); got != "" || err != io.EOF {
			t.Fatalf("%s: at the end: %q, %v", name, got, err)
		}
	}
}

func TestLineLimitCountsTheEnd(t *testing.T) {
	for _, limit := range []int{1, 2, 10, 4095, 4096, 4097} {
		for _, end := range []string{"\n", "\r\n"} {
			for _, n := range []int{limit - 1, limit, limit + 1, 3 * limit} {
				if n < len(end) {
					continue
				}
				for _, bufLen := range []int{0, 16} {
					what := fmt.Sprintf("a line of %d bytes that ends in %q, limit %d, BufLen %d", n, end, limit, bufLen)
					line := strings.Repeat("x", n-len(end))
					r := readerOf(t, paranoid(t), bufLen, strings.NewReader(line+end+"next"))
					r.SetLimits(sluice.Options{Line: limit})
					got, err := r.ReadLine()
					if n <= limit {
						if got != line || err != nil {
							t.Errorf("%s: %d bytes, %v", what, len(got), err)
						}
						continue
					}
					var e *sluice.Error
					if got != "" || !errors.Is(err, sluice.ErrTooLong) || !errors.As(err, &e) || sluice.LimitOf(e) != int64(limit) {
						t.Errorf("%s: %d bytes, %v", what, len(got), err)
					}
					// It stays unread, and can be skipped or read otherwise.
					r.SetLimits(sluice.Options{})
					if got, err := r.ReadLine(); got != line || err != nil {
						t.Errorf("%s: with a larger limit %d bytes, %v", what, len(got), err)
					}
				}
			}
		}
	}
}

func TestSliceLimitIsThatOfFrames(t *testing.T) {
	text := strings.Repeat("x", 5000) + "|"
	for _, c := range []struct {
		limit int
		ok    bool
	}{{5001, true}, {5000, false}, {100, false}} {
		r := readerOf(t, paranoid(t), 0, strings.NewReader(text))
		r.SetLimits(sluice.Options{Frame: c.limit})
		p, err := r.ReadSlice('|')
		if c.ok {
			if string(p) != text || err != nil {
				t.Errorf("limit %d: %d bytes, %v", c.limit, len(p), err)
			}
			continue
		}
		if len(p) != 0 || !errors.Is(err, sluice.ErrTooLong) {
			t.Errorf("limit %d: %d bytes, %v", c.limit, len(p), err)
		}
		if err := r.Skip(len(text)); err != nil {
			t.Errorf("limit %d: the bytes are gone: %v", c.limit, err)
		}
	}
}
