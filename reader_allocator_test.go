package sluice_test

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// TestEveryKindOfReaderTakesAnAllocator reads across two pieces, which has to
// be done in a block, from each kind of source that brings pieces of its own.
func TestEveryKindOfReaderTakesAnAllocator(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	for name, open := range map[string]func(o sluice.Options) *sluice.BufReader{
		"fed": func(o sluice.Options) *sluice.BufReader {
			r := sluice.NewBufReaderFed(o)
			for _, p := range []string{"one, ", "two"} {
				if err := r.Feed([]byte(p)); err != nil {
					t.Fatal(err)
				}
			}
			return r
		},
		"chan": func(o sluice.Options) *sluice.BufReader {
			r := sluice.NewBufReaderChan(2, o)
			r.Mouth <- []byte("one, ")
			r.Mouth <- []byte("two")
			return r
		},
		"from": func(o sluice.Options) *sluice.BufReader {
			rw := bufio.NewReadWriter(bufio.NewReader(strings.NewReader("one, two")), nil)
			if _, err := rw.Peek(8); err != nil {
				t.Fatal(err)
			}
			return sluice.NewBufReaderFrom(rw, near, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := mem.New(mem.Options{})
			sluicetest.NoLeaks(t, a)
			r := open(sluice.Options{Allocator: a})
			if p, err := r.Next(8); string(p) != "one, two" || err != nil {
				t.Fatalf("Next returned %q, %v", p, err)
			}
			if n := a.Stats().CheckedOut; n == 0 {
				t.Error("the reader's allocator has nothing out")
			}
			r.Recycle()
		})
	}

	r := &sluice.BufReader{}
	r.Reset(strings.NewReader("in hand"))
	if p, err := r.Next(7); string(p) != "in hand" || err != nil {
		t.Fatalf("Next returned %q, %v", p, err)
	}
}
