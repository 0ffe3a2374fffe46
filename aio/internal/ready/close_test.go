//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// The goroutine in Wait may complete a write between the beginning of Close and the moment when that
// comes to its connection.
func TestShutdownOfAWriteThatEndsDuringClose(t *testing.T) {
	d, err := Open(op.Settings{Allocator: mem.Default(), BufferSize: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Submit(near, op.Request{Kind: op.WriteBytes, Buf: make([]byte, 16<<20)}); err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 1)
	go func() { said <- d.Shutdown(t.Context()) }()
	until(t, d, func() bool { return d.life.drained != nil })
	c := d.all()[0]
	c.mu.Lock()
	go d.Close()
	until(t, d, func() bool { return d.life.closed })
	d.completeWrite(c, c.writes.head(), nil)
	c.mu.Unlock()
	if err := <-said; err != nil {
		t.Errorf("Shutdown, with everything written: %v", err)
	}
}

// until waits for what is so with d.mu held.
func until(t *testing.T, d *Driver, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		d.mu.Lock()
		is := ok()
		d.mu.Unlock()
		if is {
			return
		}
		if time.Now().After(end) {
			t.Fatal("not after a minute")
		}
	}
}
