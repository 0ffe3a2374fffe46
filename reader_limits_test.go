package sluice_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// TestNoLimitIsAsGoodAsALargeOne: lengths near the largest int, in whatever
// place of the stream and behind a mark or not, are refused or end with the
// stream. They consume nothing.
func TestNoLimitIsAsGoodAsALargeOne(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	calls := map[string]func(r *sluice.BufReader, n int) error{
		"Next":      func(r *sluice.BufReader, n int) error { _, err := r.Next(n); return err },
		"Peek":      func(r *sluice.BufReader, n int) error { _, err := r.Peek(n); return err },
		"ReadBuf":   discardBuf,
		"ReadBytes": discardBytes,
	}
	for name, call := range calls {
		for _, n := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 5000, math.MaxInt/2 + 1, math.MaxInt / 2} {
			for _, mark := range []bool{false, true} {
				for _, one := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%#x/mark %v/one byte a Read %v", name, n, mark, one), func(t *testing.T) {
						var src io.Reader = strings.NewReader(text)
						if one {
							src = iotest.OneByteReader(src)
						}
						r := sluice.NewBufReader(src, sluice.Options{Frame: math.MaxInt, Line: math.MaxInt, Header: math.MaxInt, Allocator: watched(t, 0)})
						t.Cleanup(r.Recycle)
						mustReadByte(t, r, '0')
						if mark {
							r.Mark()
							mustReadByte(t, r, '1')
						}
						err := call(r, n)
						if !errors.Is(err, sluice.ErrTooLong) && !errors.Is(err, io.ErrUnexpectedEOF) && !(name == "Peek" && err == io.EOF) {
							t.Fatal(err)
						}
						if mark {
							r.Rollback()
						}
						if got := readAll(t, r); got != text[1:] {
							t.Errorf("%d bytes are left, of %d", len(got), len(text)-1)
						}
					})
				}
			}
		}
	}
}

// TestTheFrameLimitHoldsForWhatHasArrivedToo: whether a request is within the limit
// is not a question of how the network has cut the stream.
func TestTheFrameLimitHoldsForWhatHasArrivedToo(t *testing.T) {
	const limit = 20
	text := strings.Repeat("0123456789", 10)
	calls := map[string]func(r *sluice.BufReader, n int) error{
		"Next":      func(r *sluice.BufReader, n int) error { _, err := r.Next(n); return err },
		"ReadBuf":   discardBuf,
		"ReadBytes": discardBytes,
		"ReadBufs": func(r *sluice.BufReader, n int) error {
			var dst [2]mem.Buf
			if err := r.ReadBufs(n, dst[:]); err != nil {
				return err
			}
			dst[0].Release()
			dst[1].Release()
			return nil
		},
	}
	for name, call := range calls {
		for cut, src := range sluicetest.Chunkings([]byte(text)) {
			t.Run(name+"/"+cut, func(t *testing.T) {
				r := sluice.NewBufReader(src, sluice.Options{Frame: limit, Allocator: watched(t, 0)})
				t.Cleanup(r.Recycle)
				mustReadByte(t, r, '0')
				var e *sluice.Error
				if err := call(r, limit+1); !errors.Is(err, sluice.ErrTooLong) || !errors.As(err, &e) || sluice.LimitOf(e) != limit {
					t.Fatalf("%d bytes: %v", limit+1, err)
				}
				if err := call(r, limit); err != nil {
					t.Fatal(err)
				}
				if got := readAll(t, r); got != text[1+limit:] {
					t.Errorf("%d bytes are left, of %d", len(got), len(text)-1-limit)
				}
			})
		}
	}
}
