package mem

import "testing"

func BenchmarkZ(b *testing.B) {
	a := New(Options{})
	b.Run("cut", func(b *testing.B) {
		s := a.Slab(4096)
		for i := 0; i < b.N; i++ {
			x := s.Cut(100, 200)
			x.Release()
		}
	})
	b.Run("cutbytes", func(b *testing.B) {
		s := a.Slab(4096)
		for i := 0; i < b.N; i++ {
			x := s.Cut(100, 200)
			if x.Bytes()[0] == 77 { b.Fatal() }
			x.Release()
		}
	})
	b.Run("get", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			x := a.Get(4000)
			x.Release()
		}
	})
	b.Run("cut3", func(b *testing.B) {
		s := a.Slab(4096)
		var k [3]Buf
		for i := 0; i < b.N; i++ {
			s.CutFor(k[:], 100, 200)
			k[0].Release()
			k[1].Release()
			k[2].Release()
		}
	})
	b.Run("retain", func(b *testing.B) {
		x := a.Get(4000)
		for i := 0; i < b.N; i++ {
			y := x.Retain()
			y.Release()
		}
	})
	b.Run("pool", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			x := poolGet(4000)
			poolPut(x)
		}
	})
}
