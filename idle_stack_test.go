//go:build linux && !race

package sluice_test

import (
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/invariant"
)

// A goroutine whose stack never grows beyond its first 2 KiB costs half as much to keep: that
// is most of what an idle connection takes.
func TestReaderThatWaitsStaysInTheFirstStack(t *testing.T) {
	if invariant.Enabled || testing.CoverMode() != "" {
		t.Skip("the checks, or the counters of coverage, take more stack")
	}
	const n, size = 256, 16 << 10
	stacks := func(wait func(c *net.TCPConn, read func())) int {
		var before, after runtime.MemStats
		var over, ready sync.WaitGroup
		var ends []net.Conn
		begun := make(chan struct{})
		for range n {
			near, far := tcpPair(t)
			ends = append(ends, near, far)
			ready.Add(2)
			over.Go(func() {
				<-begun
				wait(near, ready.Done)
			})
		}
		runtime.ReadMemStats(&before)
		close(begun)
		p := make([]byte, size)
		for range 2 {
			for i := 1; i < len(ends); i += 2 {
				if _, err := ends[i].Write(p); err != nil {
					t.Fatal(err)
				}
			}
		}
		ready.Wait()
		runtime.ReadMemStats(&after)
		for _, c := range ends {
			c.Close()
		}
		over.Wait()
		return int(after.StackInuse) - int(before.StackInuse)
	}
	bare := stacks(func(c *net.TCPConn, read func()) {
		read()
		read()
		raw, err := c.SyscallConn()
		if err != nil {
			t.Error(err)
			return
		}
		_ = raw.Read(func(uintptr) bool { return false })
	})
	ours := stacks(func(c *net.TCPConn, read func()) {
		r := sluice.NewBufReader(c)
		defer r.Recycle()
		for {
			if _, err := r.Next(size); err != nil {
				return
			}
			read()
		}
	})
	if more := (ours - bare) / n; more > 1024 {
		t.Errorf("a reader that waits takes %d bytes of stack more than a bare goroutine", more)
	}
}
