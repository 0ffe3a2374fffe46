package sluice_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"reflect"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// lastMessage is the smallest class that holds the messages of the tests here,
// 16 KiB and a header: what a reader may keep while a Read waits.
const lastMessage = 32 << 10

// idleConns are connections and what a reader that waits over them may hold.
var idleConns = []struct {
	name string
	open func(t *testing.T) (near, far net.Conn)
	most int64
}{
	{"tcp", func(t *testing.T) (net.Conn, net.Conn) { return streamPair(t, "tcp") }, 0},
	{"unix", func(t *testing.T) (net.Conn, net.Conn) { return streamPair(t, "unix") }, 0},
	{"pipe", func(t *testing.T) (net.Conn, net.Conn) { return streamPair(t, "pipe") }, lastMessage},
	{"tls", func(t *testing.T) (net.Conn, net.Conn) {
		near, far := tcpPair(t)
		return asConns(tlsOver(t, near, far))
	}, lastMessage},
	{"wrapped tcp", func(t *testing.T) (net.Conn, net.Conn) {
		near, far := tcpPair(t)
		return struct{ net.Conn }{near}, far
	}, lastMessage},
}

func asConns[A, B net.Conn](a A, b B) (net.Conn, net.Conn) { return a, b }

// waits starts call in another goroutine and returns when that waits for
// bytes; done returns when call has.
func waits(t *testing.T, call func(r *sluice.BufReader), r *sluice.BufReader) (done func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		inCall(call, r)
	}()
	untilParked(t, "inCall")
	return func() { within(t, "the call", func() { <-over }) }
}

//go:noinline
func inCall(call func(r *sluice.BufReader), r *sluice.BufReader) { call(r) }

func TestReaderThatWaitsBetweenMessagesHoldsNothing(t *testing.T) {
	size := 16 << 10
	for _, c := range idleConns {
		for _, take := range []struct {
			name string
			call func(r *sluice.BufReader) error
		}{
			{"Next", func(r *sluice.BufReader) error { _, err := r.Next(size); return err }},
			{"ReadBuf", func(r *sluice.BufReader) error { return discardBuf(r, size) }},
			{"ReadBytes", func(r *sluice.BufReader) error { return discardBytes(r, size) }},
			{"Skip", func(r *sluice.BufReader) error { return r.Skip(size) }},
		} {
			t.Run(c.name+"/"+take.name, func(t *testing.T) {
				near, far := c.open(t)
				a := mem.New(mem.Options{})
				r := readerOf(t, a, 0, near)
				text := "head" + string(testData(size))
				for range 4 {
					var err error
					done := waits(t, func(r *sluice.BufReader) {
						if _, err = r.ReadBE32(4); err == nil {
							err = take.call(r)
						}
					}, r)
					if out := a.Stats().OutBytes; out > c.most {
						t.Errorf("%d bytes are checked out while it waits for a message, at most %d", out, c.most)
					}
					write(t, far, text)
					done()
					if err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

func TestReaderThatWaitsInsideAMessageHoldsLittle(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, flood := range []bool{false, true} {
			for _, part := range []int{1, 100, 250} {
				t.Run(fmt.Sprintf("%s, after a flood %v, %d bytes", network, flood, part), func(t *testing.T) {
					near, far := streamPair(t, network)
					a := mem.New(mem.Options{})
					r := readerOf(t, a, 0, near)
					data := testData(400_000)
					at := 0
					if flood { // so that the blocks are large
						goTest(t, func() { write(t, far, string(data[:300_000])) })
						if err := r.Skip(300_000); err != nil {
							t.Fatal(err)
						}
						at = 300_000
					}
					goTest(t, func() { write(t, far, string(data[at:at+part])) })
					if _, err := r.Peek(part); err != nil {
						t.Fatal(err)
					}
					var p []byte
					var err error
					done := waits(t, func(r *sluice.BufReader) { p, err = r.Next(2000) }, r)
					if out := a.Stats().OutBytes; out > sluice.MinBlock {
						t.Errorf("%d bytes are checked out while it waits with %d bytes of a message", out, part)
					}
					write(t, far, string(data[at+part:at+2000]))
					done()
					if err != nil || !bytes.Equal(p, data[at:at+2000]) {
						t.Errorf("%d bytes, %v", len(p), err)
					}
				})
			}
		}
	}
}

func TestReaderThatWaitsKeepsNothingThatOthersLetGo(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		near, far := streamPair(t, network)
		a := mem.New(mem.Options{})
		r := readerOf(t, a, 0, near)
		write(t, far, "held bytes")
		held, err := r.ReadBuf(10)
		if err != nil {
			t.Fatal(err)
		}
		done := waits(t, func(r *sluice.BufReader) { _, _ = r.ReadByte() }, r)
		if n := a.Stats().CheckedOut; n != 1 {
			t.Errorf("%s: %d blocks are checked out, one is held", network, n)
		}
		held.Release()
		if out := a.Stats().OutBytes; out != 0 {
			t.Errorf("%s: %d bytes are checked out after the last Release", network, out)
		}
		write(t, far, "x")
		done()
	}
}

func TestPinnedReaderThatWaitsHoldsNothing(t *testing.T) {
	near, far := tcpPair(t)
	a := mem.New(mem.Options{})
	r := readerOf(t, a, 4096, near)
	for range 3 {
		done := waits(t, func(r *sluice.BufReader) { mustReadByte(t, r, 'x') }, r)
		if out := a.Stats().OutBytes; out != 0 {
			t.Errorf("%d bytes are checked out", out)
		}
		write(t, far, "x")
		done()
	}
}

func TestManyIdleConnectionsShareAFewBlocks(t *testing.T) {
	a := mem.New(mem.Options{})
	var done []func()
	var fars []io.Writer
	for range 50 {
		near, far := tcpPair(t)
		r := readerOf(t, a, 0, near)
		write(t, far, string(testData(1000)))
		if _, err := r.Next(1000); err != nil {
			t.Fatal(err)
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = r.ReadByte()
		}()
		done = append(done, func() { <-over })
		fars = append(fars, far)
	}
	eventually(t, "no connection holds a block", func() bool { return a.Stats().OutBytes == 0 })
	if live := a.Stats().IdleBytes; live > 1<<20 {
		t.Errorf("%d bytes of blocks exist for 50 connections that took turns", live)
	}
	for i := range fars {
		write(t, fars[i], "x")
		within(t, "the read", done[i])
	}
}

// A field more would cost each idle connection the next of the runtime's size classes.
func TestReadersAndWritersFitTheirSizeClasses(t *testing.T) {
	if ^uint(0)>>32 == 0 {
		t.Skip("sizes of 64-bit systems")
	}
	if r, w := reflect.TypeFor[sluice.BufReader]().Size(), reflect.TypeFor[sluice.BufWriter]().Size(); r > 240 || w > 288 {
		t.Errorf("a reader has %d bytes and a writer %d", r, w)
	}
}
