package sluice_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestReaderSatisfiesTestReader(t *testing.T) {
	seed := sluicetest.Seed(t)
	for _, s := range streams() {
		for _, size := range []int{0, 1, 2000, 150_000} {
			for _, c := range []struct {
				name string
				next func() func() int
			}{
				{"whole", func() func() int { return every(1 << 30) }},
				{"1", func() func() int { return every(1) }},
				{"7", func() func() int { return every(7) }},
				{"4096", func() func() int { return every(4096) }},
				{"random", func() func() int {
					rng := rand.New(rand.NewPCG(seed, 1))
					return func() int { return 1 + rng.IntN(1+rng.IntN(20_000)) }
				}},
			} {
				if size > 2000 && (c.name == "1" || c.name == "7") {
					continue // as many system calls as bytes, nothing new
				}
				t.Run(fmt.Sprintf("%s/%d by %s", s.name, size, c.name), func(t *testing.T) {
					a := paranoid(t)
					data := testData(size)
					r := s.open(t, a, data, c.next())
					if err := iotest.TestReader(r, data); err != nil {
						t.Fatal(err)
					}
					if got := r.TotalRead(); got != int64(size) {
						t.Errorf("TotalRead is %d after %d bytes", got, size)
					}
					if n := r.Buffered(); n != 0 {
						t.Errorf("%d bytes are buffered at the end", n)
					}
				})
			}
		}
	}
}

func TestReaderSatisfiesTestReaderOverEveryChunking(t *testing.T) {
	data := testData(5000)
	for _, bufLen := range []int{0, 16, 17, 4096} {
		for name, src := range sluicetest.Chunkings(data) {
			t.Run(fmt.Sprintf("BufLen %d/%s", bufLen, name), func(t *testing.T) {
				if err := iotest.TestReader(readerOf(t, paranoid(t), bufLen, src), data); err != nil {
					t.Fatal(err)
				}
			})
		}
		for _, c := range []struct {
			name string
			wrap func(io.Reader) io.Reader
		}{
			{"OneByteReader", iotest.OneByteReader},
			{"HalfReader", iotest.HalfReader},
			{"DataErrReader", iotest.DataErrReader},
			{"DataErrReader of OneByteReader", func(r io.Reader) io.Reader { return iotest.DataErrReader(iotest.OneByteReader(r)) }},
			{"reader of a reader", func(r io.Reader) io.Reader { return sluice.NewBufReaderWithBufLen(r, 100) }},
		} {
			t.Run(fmt.Sprintf("BufLen %d/%s", bufLen, c.name), func(t *testing.T) {
				if err := iotest.TestReader(readerOf(t, paranoid(t), bufLen, c.wrap(bytes.NewReader(data))), data); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
