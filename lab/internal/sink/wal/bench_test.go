package wal

import (
	"fmt"
	"testing"
)

func BenchmarkAppendBatch(b *testing.B) {
	for _, size := range []int{128, 1 << 10, 16 << 10, 256 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l, _, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			batch := make([][]byte, max(1, 64<<10/size))
			for i := range batch {
				batch[i] = make([]byte, size)
			}
			b.SetBytes(int64(size * len(batch)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if _, err := l.AppendBatch(batch); err != nil {
					b.Fatal(err)
				}
				if n++; n%1000 == 0 { // bounds what lies on the disk
					if err := l.TruncateBack(0); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
