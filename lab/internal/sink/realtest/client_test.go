//go:build linux

package realtest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink/acked"
)

// A ledger is what clients were acknowledged, and when; safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	entries []acknowledgement
	took    func(time.Duration) // called with each, if not nil: how long it took
}

type acknowledgement struct {
	index       uint64
	crc, length uint32
	sent, at    time.Time // when it was written, and the answer was read
}

func (l *ledger) add(a acknowledgement) {
	l.mu.Lock()
	l.entries = append(l.entries, a)
	l.mu.Unlock()
	if l.took != nil {
		l.took(a.at.Sub(a.sent))
	}
}

func (l *ledger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// last is the highest number that was acknowledged.
func (l *ledger) last() (n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.entries {
		n = max(n, a.index)
	}
	return n
}

// file writes the ledger to a file.
func (l *ledger) file(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "acks")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := acked.NewWriter(f)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.entries {
		if err := w.Append(a.index, a.crc, a.length); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return name
}

// await waits until there are so many more entries.
func (l *ledger) await(t testing.TB, more int) {
	t.Helper()
	want := l.len() + more
	eventually(t, lengthened(30*time.Second), func() string {
		if have := l.len(); have < want {
			return fmt.Sprintf("%d of %d records are acknowledged", have, want)
		}
		return ""
	})
}

// A load sends records to sinks until it is stopped.
type load struct {
	addrs    []string
	conns    int
	depth    int           // records of a connection that wait for their answer
	size     int           // longest payload
	timeout  time.Duration // without an answer, before a connection is given up; 0 for 20 s
	ledger   *ledger
	quit     chan struct{}
	running  sync.WaitGroup
	redials  atomic.Uint64
	sequence atomic.Uint64
}

// run begins to send.
func (o *load) run(r *rand.Rand) *load {
	o.quit = make(chan struct{})
	for n := range o.conns {
		draw := rand.New(rand.NewPCG(r.Uint64(), uint64(n)))
		o.running.Go(func() { o.client(n, draw) })
	}
	return o
}

// stop ends it: what was acknowledged until then is in the ledger.
func (o *load) stop() {
	close(o.quit)
	o.running.Wait()
}

func (o *load) stopped() bool {
	select {
	case <-o.quit:
		return true
	default:
		return false
	}
}

// client is one connection, made anew to the next address whenever it ends.
func (o *load) client(n int, draw *rand.Rand) {
	for target := n; !o.stopped(); target++ {
		conn, err := net.DialTimeout("tcp", o.addrs[target%len(o.addrs)], 5*time.Second)
		if err == nil {
			o.session(conn, draw)
		}
		o.redials.Add(1)
		// A sink that is down, or a node that does not lead, is not to be asked in a
		// loop.
		pause := time.NewTimer(time.Duration(1+draw.IntN(10)) * time.Millisecond)
		select {
		case <-pause.C:
		case <-o.quit:
			pause.Stop()
		}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// session sends and reads answers until the connection ends.
func (o *load) session(conn net.Conn, draw *rand.Rand) {
	waiting := make(chan acknowledgement, o.depth)
	over := make(chan struct{})
	go func() {
		select {
		case <-o.quit:
		case <-over:
		}
		conn.Close()
	}()
	var reading sync.WaitGroup
	reading.Go(func() {
		defer conn.Close()
		var answer [8]byte
		for a := range waiting {
			conn.SetReadDeadline(time.Now().Add(cmp.Or(o.timeout, 20*time.Second)))
			if _, err := io.ReadFull(conn, answer[:]); err != nil {
				conn.Close()
				for range waiting { // in doubt, for ever
				}
				return
			}
			a.index, a.at = binary.BigEndian.Uint64(answer[:]), time.Now()
			o.ledger.add(a)
		}
	})
	for {
		payload := fmt.Appendf(make([]byte, 4, 64), "record %d ", o.sequence.Add(1))
		payload = append(payload, strings.Repeat("x", draw.IntN(max(1, o.size-len(payload))))...)
		binary.BigEndian.PutUint32(payload, uint32(len(payload)-4))
		sent := time.Now()
		if _, err := conn.Write(payload); err != nil {
			break
		}
		waiting <- acknowledgement{sent: sent, crc: crc32.Checksum(payload[4:], castagnoli), length: uint32(len(payload) - 4)}
	}
	close(waiting)
	reading.Wait()
	close(over)
}
