//go:build unix

package aio_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/aio"
)

func init() {
	suite = append(suite,
		behaviour{name: "a crowd with nil buffers", run: func(f *fixture) { crowdEchoes(f, false) }, on: onlyTCP, longSkip: true},
		behaviour{name: "a crowd with buffers of its own", run: func(f *fixture) { crowdEchoes(f, true) }, on: onlyTCP, longSkip: true},
	)
}

// roomFor says how many connections, with both ends in this process, the limit
// on descriptors leaves room for, after trying to raise it.
func roomFor(f *fixture, want int) int {
	f.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		f.Fatal(err)
	}
	// Go has raised the soft limit at start. More needs a higher hard limit,
	// which a privileged process may set.
	const spare = 50
	if need := 2*want + openDescriptors(f) + spare; uint64(l.Cur) < uint64(need) {
		raised := l
		raised.Cur = max(raised.Cur, raised.Max)
		for uint64(raised.Cur) < uint64(need) {
			raised.Cur += 1000
		}
		raised.Max = max(raised.Max, raised.Cur)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err == nil {
			l = raised
		}
	}
	room := (int(min(uint64(l.Cur), 1<<20)) - openDescriptors(f) - spare) / 2
	if room < want {
		f.Logf("%d connections instead of %d: this process may have %d descriptors", room, want, l.Cur)
	}
	return min(room, want)
}

// crowdEchoes has one server goroutine echo on thousands of connections, of which
// almost all are idle at any time.
func crowdEchoes(f *fixture, own bool) {
	const size, rounds = 256, 2
	f.free(f.idleConn())
	goroutines := runtime.NumGoroutine()
	n := roomFor(f, crowdSize)
	near, far := make([]net.Conn, n), make([]net.Conn, n)
	defer func() {
		for _, c := range far {
			// Thousands of ports that linger would be missed by the next test.
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}
	}()
	var buffers [][]byte
	if own {
		buffers = make([][]byte, n)
	}
	for i := range n {
		near[i], far[i] = f.socketPair()
		var buf []byte
		if own {
			buffers[i] = make([]byte, size)
			buf = buffers[i]
		}
		if err := f.w.Read(i, near[i], buf); err != nil {
			f.Fatalf("connection %d: %v", i, err)
		}
	}
	served := f.background("the server", func() error { return f.echo(near, own) })
	for round := range rounds {
		f.chat(far, size, round)
	}
	if more := runtime.NumGoroutine() - goroutines; f.can&fixedGoroutines != 0 && more > 4 {
		f.Errorf("%d connections have cost %d goroutines", n, more)
	}
	f.eventually("each connection waits for its next message", func() bool {
		s := f.w.Stats()
		return s.Conns == n && s.Pending == n
	})
	_ = f.w.Close()
	<-served
	runtime.KeepAlive(near)
}

// chat has all peers send before the first of them reads.
func (f *fixture) chat(far []net.Conn, size, round int) {
	f.Helper()
	message := func(i int) []byte {
		return bytes.Repeat(binary.BigEndian.AppendUint64(nil, uint64(round)<<32|uint64(i)), size/8)
	}
	deadline := time.Now().Add(2 * eventTimeout)
	for i, c := range far {
		if err := c.SetDeadline(deadline); err != nil {
			f.Fatal(err)
		}
		f.sendAll(c, message(i))
	}
	got := make([]byte, size)
	for i, c := range far {
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, message(i)) {
			f.Fatalf("connection %d: %v, or another's bytes", i, err)
		}
	}
}

// echo serves until the watcher is closed.
func (f *fixture) echo(near []net.Conn, own bool) error {
	for {
		results, err := f.w.WaitIO()
		f.settle(results, err)
		if err != nil {
			return nil
		}
		for i := range results {
			r := &results[i]
			if r.Error != nil {
				return r.Error
			}
			n := r.Context.(int)
			switch {
			case r.Operation == aio.OpWrite && own:
				err = f.w.Read(n, near[n], r.Buffer[:cap(r.Buffer)])
			case r.Operation == aio.OpWrite:
				err = f.w.Read(n, near[n], nil)
			case own:
				err = f.w.Write(n, near[n], r.Buffer[:r.Size])
			default:
				err = f.w.Write(n, near[n], slices.Clone(r.Buffer))
			}
			if err != nil {
				return err
			}
		}
	}
}
