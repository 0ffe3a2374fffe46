package std

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
)

// kinds are connections that a read waits on in different ways.
var kinds = []struct {
	name string
	pair func(x *fixture) (near, far net.Conn)
}{
	{"socket", func(x *fixture) (net.Conn, net.Conn) { return x.tcp() }},
	{"wrapper", func(x *fixture) (net.Conn, net.Conn) {
		near, far := x.tcp()
		return struct{ net.Conn }{near}, far
	}},
	{"TLS", func(x *fixture) (net.Conn, net.Conn) {
		near, far := x.tcp()
		return tls.Server(near, testcert.Server(x.T)), tls.Client(far, testcert.Client(x.T))
	}},
}

// take reads n bytes of conn with ReadBuf, and gives them back. A plain socket that falls
// silent may hold the budget until idleWait is over.
func (x *fixture) take(conn net.Conn, n int) {
	x.Helper()
	for n > 0 {
		x.must(x.w.ReadBuf("take", conn, 0, time.Time{}))
		r := x.one()
		if errors.Is(r.Error, mem.ErrBudget) {
			runtime.Gosched()
			continue
		}
		x.must(r.Error)
		n -= r.Size
		r.Buf.Release()
	}
}

// Memory follows the bytes that come: reads that wait hold nothing of the budget, whatever their
// connections have brought before.
func TestSilentConnectionsHoldNothingOfTheBudget(t *testing.T) {
	for _, kind := range kinds {
		for _, size := range []int{0, 100} {
			t.Run(fmt.Sprintf("%s, ReadBuf %d", kind.name, size), func(t *testing.T) {
				const long = 128 << 10
				x := newFixture(t, op.Settings{Allocator: mem.New(mem.Options{Name: "budget", Budget: 64 << 10})})
				for range 4 {
					near, far := kind.pair(x)
					go far.Write(make([]byte, long))
					x.take(near, long)
					x.must(x.w.ReadBuf("silent", near, size, time.Time{}))
				}
				near, far := kind.pair(x)
				go far.Write([]byte("abc"))
				x.take(near, 3)
				x.eventually("nothing is held", func() bool { return x.alloc.Stats().OutBytes == 0 })
			})
		}
	}
}

// What came when the budget had nothing is not lost: the next read gets it, of whatever kind.
func TestWhatCameWithoutMemoryIsForTheNextRead(t *testing.T) {
	const budget = 4096
	for _, kind := range kinds {
		for _, next := range []op.Kind{op.ReadCounted, op.ReadLeased, op.ReadSome, op.ReadFull} {
			t.Run(fmt.Sprintf("%s, kind %d", kind.name, next), func(t *testing.T) {
				x := newFixture(t, op.Settings{Allocator: mem.New(mem.Options{Name: "budget", Budget: budget})})
				near, far := kind.pair(x)
				all := x.alloc.Get(budget)
				x.must(x.w.ReadBuf("refused", near, 0, time.Time{}))
				go far.Write([]byte("abcdefgh"))
				x.wantOne("refused", mem.ErrBudget, 0)
				x.must(x.w.ReadBuf("again", near, 0, time.Time{}))
				x.wantOne("again", mem.ErrBudget, 0)
				x.sweep()
				all.Release()
				x.must(x.w.ReadBuf("two", near, 2, time.Time{}))
				r := x.wantOne("two", nil, 2)
				got := bytes.Clone(r.Buf.Bytes())
				r.Buf.Release()
				req := op.Request{Kind: next, Ctx: "next"}
				if next == op.ReadSome || next == op.ReadFull {
					req.Buf = make([]byte, 6)
				}
				x.must(x.d.Submit(near, req))
				r = x.wantOne("next", nil, 6)
				got = append(got, r.Buffer...)
				if r.Buf.Valid() {
					r.Buf.Release()
				}
				if string(got) != "abcdefgh" {
					t.Errorf("%q came", got)
				}
			})
		}
	}
}

// sweep lets the watcher forget what has had nothing pending.
func (x *fixture) sweep() {
	x.Helper()
	for range 3 {
		x.must(x.d.Post("sweep", nil, nil))
		x.wantOne("sweep", nil, 0)
	}
}
