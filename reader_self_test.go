package sluice_test

import (
	"io"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// TestReaderOfItselfPanics: a recursion without an end would end the program, whatever it recovers.
func TestReaderOfItselfPanics(t *testing.T) {
	calls := map[string]func(r *sluice.BufReader){
		"ReadByte":  func(r *sluice.BufReader) { _, _ = r.ReadByte() },
		"Next":      func(r *sluice.BufReader) { _, _ = r.Next(100_000) },
		"Read":      func(r *sluice.BufReader) { _, _ = r.Read(make([]byte, 9000)) },
		"ReadBytes": func(r *sluice.BufReader) { _, _ = r.ReadBytes(200_000) },
		"WriteTo":   func(r *sluice.BufReader) { _, _ = r.WriteTo(io.Discard) },
	}
	sources := map[string]func(r *sluice.BufReader) io.Reader{
		"a LimitedReader": func(r *sluice.BufReader) io.Reader { return io.LimitReader(r, 1<<20) },
		"a TeeReader":     func(r *sluice.BufReader) io.Reader { return io.TeeReader(r, io.Discard) },
		"with Close":      func(r *sluice.BufReader) io.Reader { return io.NopCloser(io.TeeReader(r, io.Discard)) },
		"another reader": func(r *sluice.BufReader) io.Reader {
			return sluice.NewBufReader(io.MultiReader(r, strings.NewReader("")))
		},
	}
	for from, wrap := range sources {
		for name, call := range calls {
			for _, budget := range []int64{0, 1 << 24} {
				r := readerOf(t, mem.New(mem.Options{Budget: budget}), 0, strings.NewReader("x"))
				r.Reset(wrap(r))
				if text := panicOf(func() { call(r) }); !strings.HasPrefix(text, "sluice: BufReader ") {
					t.Errorf("%s of %s: panic %q", name, from, text)
				}
				r.Reset(strings.NewReader("y"))
				mustReadByte(t, r, 'y')
			}
		}
	}
}
