package scenarios

import (
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
)

var _ = registerChild("idle-server", idleServer)

// idleServer is the child that has connections wait in one way, and says how
// many bytes each of them needs. It is a process of its own, since the size of
// new stacks follows the history of a process.
//
// What is counted are live objects and stacks after collections which also
// empty all pools: the connection, its goroutine with the runtime's record of
// it, and what the way adds. The kernel's socket is not counted.
func idleServer(args []string) error {
	if err := childArgs("idle-server", args, "WAY", "CONNECTIONS"); err != nil {
		return err
	}
	count, err := strconv.Atoi(args[1])
	if err != nil || count < 1 {
		return fmt.Errorf("scenarios: %s connections", strconv.Quote(args[1]))
	}
	var way *idleWay
	for i := range idleWays {
		if idleWays[i].name == args[0] {
			way = &idleWays[i]
		}
	}
	if way == nil {
		return fmt.Errorf("scenarios: there is no way %s to wait", strconv.Quote(args[0]))
	}
	child.Begin(childLife)
	l, err := listenLocal()
	if err != nil {
		return err
	}
	defer l.Close()
	h := &hall{open: make([]*net.TCPConn, 0, count), ready: make(chan struct{})}
	before := settled(count)
	fmt.Println(l.Addr())
	l.SetDeadline(time.Now().Add(childStart))
	for range count {
		conn, err := l.AcceptTCP()
		if err != nil {
			return fmt.Errorf("scenarios: connection %d of %d: %w", len(h.open)+1, count, err)
		}
		h.open = append(h.open, conn)
		go way.serve(conn, h.got) // until the process ends
	}
	wait := time.NewTimer(childStart)
	select {
	case <-h.ready:
	case <-wait.C:
		return fmt.Errorf("scenarios: %d of %d connections had their message after %v", h.fed.Load(), count, childStart)
	}
	wait.Stop()
	fmt.Println(float64(settled(count)-before) / float64(count))
	runtime.KeepAlive(h)
	select {} // the parent ends it
}

// A hall is where the connections wait.
type hall struct {
	open  []*net.TCPConn
	fed   atomic.Int64
	ready chan struct{} // closed when as many are fed as fit
}

func (h *hall) got() {
	if h.fed.Add(1) == int64(cap(h.open)) {
		close(h.ready)
	}
}

// settled returns the bytes in live objects and in stacks, once two readings differ
// by less than one byte for each of the n connections: a goroutine that has just
// received its message may not be waiting again yet. After 20 readings it takes the last.
func settled(n int) int64 {
	last := live()
	for range 20 {
		now := live()
		if d := now - last; -int64(n) < d && d < int64(n) {
			return now
		}
		last = now
	}
	return last
}

func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
