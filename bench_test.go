package sluice

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"
)

type loop struct {
	data  []byte
	at    int
	sizes [4096]uint16
	i     uint
}

func (l *loop) Read(p []byte) (int, error) {
	n := min(int(l.sizes[l.i%4096]), len(p))
	l.i++
	n = copy(p[:n], l.data[l.at:])
	if l.at += n; l.at == len(l.data) {
		l.at = 0
	}
	return n, nil
}

func newLoop(lo, hi int) *loop {
	r := rand.New(rand.NewPCG(1, 2))
	l := &loop{}
	for len(l.data) < 1<<20 {
		n := 256 + r.IntN(769)
		l.data = binary.BigEndian.AppendUint32(l.data, uint32(n))
		for range n {
			l.data = append(l.data, byte(n))
		}
	}
	for i := range l.sizes {
		l.sizes[i] = uint16(lo + r.IntN(hi-lo+1))
	}
	return l
}

func BenchmarkFrames(b *testing.B) {
	for _, c := range []struct {
		name   string
		lo, hi int
	}{{"good", 1024, 4096}, {"normal", 256, 2048}, {"poor", 64, 512}, {"worst", 1, 128}} {
		b.Run(c.name+"/peek", func(b *testing.B) {
			r := bufio.NewReaderSize(newLoop(c.lo, c.hi), 64<<10)
			b.ReportAllocs()
			var sum uint64
			for b.Loop() {
				h, err := r.Peek(4)
				if err != nil {
					b.Fatal(err)
				}
				n := int(binary.BigEndian.Uint32(h))
				r.Discard(4)
				p, err := r.Peek(n)
				if err != nil {
					b.Fatal(err)
				}
				sum += uint64(p[0]) + uint64(p[n-1])
				r.Discard(n)
			}
		})
		b.Run(c.name+"/next", func(b *testing.B) {
			r := NewBufReader(newLoop(c.lo, c.hi))
			b.ReportAllocs()
			var sum uint64
			for b.Loop() {
				h, err := r.Next(4)
				if err != nil {
					b.Fatal(err)
				}
				n := int(binary.BigEndian.Uint32(h))
				p, err := r.Next(n)
				if err != nil {
					b.Fatal(err)
				}
				sum += uint64(p[0]) + uint64(p[n-1])
			}
		})
		b.Run(c.name+"/range", func(b *testing.B) {
			r := NewBufReader(newLoop(c.lo, c.hi))
			b.ReportAllocs()
			var sum uint64
			f := func(p []byte) { sum += uint64(p[0]) + uint64(p[len(p)-1]) }
			for b.Loop() {
				n, err := r.ReadBE32(4)
				if err != nil {
					b.Fatal(err)
				}
				if err := r.ReadRange(int(n), f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var _ io.Reader = (*loop)(nil)
