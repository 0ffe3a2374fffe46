package aio_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
)

// streamKey names one direction of one connection. Its bytes are a function of
// the key and their place in the stream, so that a byte of another connection,
// a lost, a doubled or a displaced one is not the byte that is expected.
type streamKey int

func upstream(id int) streamKey   { return streamKey(2 * id) }   // to the watcher
func downstream(id int) streamKey { return streamKey(2*id + 1) } // from it

// ocean are random bytes that every stream is read from, from another place on.
// Their number is no multiple of anything that a buffer's size is a multiple of.
var ocean = sync.OnceValue(func() []byte {
	p := make([]byte, 1<<20+7)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
})

// at returns some of the stream's bytes from place off on, at least one.
func (k streamKey) at(off int) []byte {
	p := ocean()
	return p[(int(k)*7919+off)%len(p):]
}

// fill writes the stream from place off on into p.
func (k streamKey) fill(p []byte, off int) {
	for len(p) > 0 {
		n := copy(p, k.at(off))
		p, off = p[n:], off+n
	}
}

// differs returns the index of the first byte of p that is not the one of the
// stream from place off on, or -1.
func (k streamKey) differs(p []byte, off int) int {
	for done := 0; done < len(p); {
		want := k.at(off + done)
		n := min(len(want), len(p)-done)
		if got := p[done : done+n]; !bytes.Equal(got, want[:n]) {
			for got[0] == want[0] {
				got, want, done = got[1:], want[1:], done+1
			}
			return done
		}
		done += n
	}
	return -1
}

// driversHere are the drivers that this machine has: the one that is chosen on
// it, and Std, which is everywhere.
func driversHere(t testing.TB) []aio.Driver {
	t.Helper()
	w, err := aio.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if chosen, _ := w.Driver(); chosen != aio.Std {
		return []aio.Driver{chosen, aio.Std}
	}
	return []aio.Driver{aio.Std}
}

// onEachDriver runs f as a subtest for every driver that this machine has.
func onEachDriver(t *testing.T, f func(t *testing.T, d aio.Driver)) {
	for _, d := range driversHere(t) {
		t.Run(d.String(), func(t *testing.T) { f(t, d) })
	}
}

// pairMaker makes pairs of connected sockets.
type pairMaker struct {
	network string
	l       net.Listener
}

// longEnough bounds every wait for a peer in these tests: none of them takes as
// long as that unless something is broken.
const longEnough = time.Minute

// socketNames tells the abstract names of one process apart.
var socketNames atomic.Int32

// newPairMaker listens on loopback, or under a new name, until the test ends.
func newPairMaker(t testing.TB, network string) *pairMaker {
	t.Helper()
	address := "127.0.0.1:0"
	switch {
	case network == "unix" && runtime.GOOS == "linux":
		// An abstract name: no file is left by a process that is killed, as those
		// of a fuzzer are.
		address = fmt.Sprintf("@sluice-%d-%d", os.Getpid(), socketNames.Add(1))
	case network == "unix":
		// Not t.TempDir: the path of a socket is limited to about 100 bytes.
		dir, err := os.MkdirTemp("", "aio")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		address = filepath.Join(dir, "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &pairMaker{network, l}
}

// allMakers are one pairMaker for each kind of socket.
func allMakers(t testing.TB) []*pairMaker {
	var all []*pairMaker
	for _, network := range socketKinds() {
		all = append(all, newPairMaker(t, network))
	}
	return all
}

// pair returns the two ends of a new connection: server to be delegated, client
// to be used by the test. One goroutine at a time.
func (d *pairMaker) pair() (server, client net.Conn, err error) {
	client, err = net.DialTimeout(d.network, d.l.Addr().String(), longEnough)
	if err != nil {
		return nil, nil, err
	}
	server, err = d.l.Accept()
	if err != nil {
		_ = client.Close()
		return nil, nil, err
	}
	if err = client.SetDeadline(time.Now().Add(longEnough)); err != nil {
		_, _ = client.Close(), server.Close()
		return nil, nil, err
	}
	return server, client, nil
}

// mustPair is pair for tests in one goroutine. The client is closed when the
// test ends.
func (d *pairMaker) mustPair(t testing.TB) (server, client net.Conn) {
	t.Helper()
	server, client, err := d.pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return server, client
}

// socketKinds are the kinds of socket that every driver takes.
func socketKinds() []string {
	if runtime.GOOS == "windows" {
		return []string{"tcp"}
	}
	return []string{"tcp", "unix"}
}

// yieldUntil lets other goroutines run until cond holds, and fails t when it does not
// within longEnough. It is for conditions that no event reports.
func yieldUntil(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(longEnough); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
