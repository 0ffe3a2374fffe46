package sluice_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// BenchmarkWriteBuf sends Bufs of one size to a peer in this process that
// reads and forgets. In "bufio" each is copied into a bufio.Writer of 64 KiB
// and released. cpu-ns/op is the processor time of the whole process, the peer
// and the kernel included. Alternate the variants and compare medians: the
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

// BenchmarkCopyOrGather makes the table of sink.go: the processor time of the
// whole process, the draining peer included, to that of a bufio.Writer of
// 64 KiB; bufio itself stands beside it. Both write 4 MB for each
// iteration, and the median of the ratios is reported: -benchtime=400x.
func BenchmarkCopyOrGather(b *testing.B) {
	for _, sink := range []struct {
		name   string
		open   func(testing.TB) (near, far net.Conn)
		bounds []int // KiB
		sizes  []int
	}{
		{"tcp", func(t testing.TB) (net.Conn, net.Conn) { return asConns(tcpPair(t)) }, []int{64, 128, 256}, []int{2 << 10, 4 << 10, 8 << 10, 16 << 10}},
		{"unix", func(t testing.TB) (net.Conn, net.Conn) { return asConns(unixPair(t)) }, []int{64, 128}, []int{2 << 10, 4 << 10, 8 << 10, 16 << 10}},
		{"tls", func(t testing.TB) (net.Conn, net.Conn) {
			near, far := tcpPair(t)
			return asConns(tlsOver(t, near, far))
		}, []int{64}, []int{100, 2 << 10, 20_000, 32 << 10}},
	} {
		for _, size := range sink.sizes {
			b.Run(fmt.Sprintf("%s/%d/bufio", sink.name, size), func(b *testing.B) {
				compareToBufio(b, sink.open, size, bufioWrite)
			})
			for _, bound := range sink.bounds {
				for way, copyBelow := range map[string]int{"copied": 1 << 20, "gathered": 0} {
					b.Run(fmt.Sprintf("%s/%d/%d KiB %s", sink.name, size, bound, way), func(b *testing.B) {
						compareToBufio(b, sink.open, size, func(c net.Conn) bufWrite {
							w := sluice.NewBufWriter(c, sluice.Options{BufLen: bound << 10})
							b.Cleanup(w.Recycle)
							sluice.SetCopyBelow(w, copyBelow)
							return bufWrite{w.WriteBuf, w.Flush}
						})
					})
				}
			}
		}
	}
}

// bufWrite is a writer of Bufs, transferred.
type bufWrite struct {
	write func(mem.Buf) error
	flush func() error
}

func bufioWrite(c net.Conn) bufWrite {
	w := bufio.NewWriterSize(c, 64<<10)
	return bufWrite{func(p mem.Buf) error {
		_, err := w.Write(p.Bytes())
		p.Release()
		return err
	}, w.Flush}
}

// pairRounds is how many rounds one pair of connections is used for: the
// speed of one pair depends much on chance.
const pairRounds = 8

func compareToBufio(b *testing.B, open func(testing.TB) (near, far net.Conn), size int, ours func(net.Conn) bufWrite) {
	const total = 4 << 20
	a := mem.New(mem.Options{})
	var sides [2]func() float64
	connect := func() {
		for i, onto := range []func(net.Conn) bufWrite{bufioWrite, ours} {
			near, far := open(b)
			w, came := onto(near), drain(b, far, total/size*size)
			sides[i] = func() float64 {
				before := cpuTime()
				for range total / size {
					if err := w.write(a.Get(size)); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.flush(); err != nil {
					b.Fatal(err)
				}
				<-came
				return float64(cpuTime() - before)
			}
			b.Cleanup(func() { _ = near.Close() })
		}
	}
	var ratios []float64
	for i := 0; b.Loop(); i++ {
		if i%pairRounds == 0 {
			connect()
		}
		var spent [2]float64
		for k := range sides {
			k = (k + i) % 2
			spent[k] = sides[k]()
		}
		if spent[0] > 0 {
			ratios = append(ratios, spent[1]/spent[0])
		}
	}
	if len(ratios) > 0 {
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "to-bufio")
	}
}

// drain reads from c and forgets, and says each time that n bytes have come.
func drain(b *testing.B, c net.Conn, n int) <-chan struct{} {
	came := make(chan struct{}, 1)
	goTest(b, func() {
		p := make([]byte, 256<<10)
		for had := 0; ; {
			k, err := c.Read(p)
			if err != nil {
				return
			}
			for had += k; had >= n; had -= n {
				came <- struct{}{}
			}
		}
	})
	return came
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
