package sluice_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// BenchmarkWriteBuf sends Bufs of one size to a peer in this process that
// reads and forgets. In "bufio" each is copied into a bufio.Writer of 64 KiB
// and released. cpu-ns/op is the processor time of the whole process, the peer
// and the kernel included. Run the variants in turn and compare medians: the
// machine changes from second to second.
func BenchmarkWriteBuf(b *testing.B) {
	for _, size := range []int{100, 600, 2048, 16 << 10} {
		b.Run(fmt.Sprintf("%d/bufio", size), func(b *testing.B) {
			w := bufio.NewWriterSize(drained(b), 64<<10)
			benchmarkBufs(b, size, func(p mem.Buf) error {
				_, err := w.Write(p.Bytes())
				p.Release()
				return err
			})
		})
		b.Run(fmt.Sprintf("%d/sluice", size), func(b *testing.B) {
			w := sluice.NewBufWriter(drained(b))
			b.Cleanup(w.Recycle)
			benchmarkBufs(b, size, w.WriteBuf)
		})
	}
}

func benchmarkBufs(b *testing.B, size int, write func(mem.Buf) error) {
	a := mem.New(mem.Options{})
	b.SetBytes(int64(size))
	b.ReportAllocs()
	before := cpuTime()
	for b.Loop() {
		if err := write(a.Get(size)); err != nil {
			b.Fatal(err)
		}
	}
	if spent := cpuTime() - before; spent > 0 {
		b.ReportMetric(float64(spent)/float64(b.N), "cpu-ns/op")
	}
}

// drained returns a TCP connection over loopback whose peer reads and forgets.
func drained(b *testing.B) *net.TCPConn {
	near, far := tcpPair(b)
	goTest(b, func() {
		p := make([]byte, 256<<10)
		for {
			if _, err := far.Read(p); err != nil {
				return
			}
		}
	})
	b.Cleanup(func() { _ = near.Close() })
	return near
}
