package std

import (
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// quitter is a connection with a method that calls runtime.Goexit, as FailNow of a test does.
type quitter struct {
	*scripted
	in      string
	network string
}

func (c *quitter) LocalAddr() net.Addr {
	c.quit("LocalAddr")
	return &net.UnixAddr{Net: c.network}
}
func (c *quitter) quit(in string) {
	if c.in == in {
		runtime.Goexit()
	}
}
func (c *quitter) Read([]byte) (int, error) {
	c.quit("Read")
	<-c.closed
	return 0, net.ErrClosed
}
func (c *quitter) Write(p []byte) (int, error) { c.quit("Write"); return len(p), nil }
func (c *quitter) CloseWrite() error           { c.quit("CloseWrite"); return nil }
func (c *quitter) Close() error {
	_ = c.scripted.Close()
	c.quit("Close")
	return nil
}
func (c *quitter) SetReadDeadline(time.Time) error  { c.quit("SetReadDeadline"); return nil }
func (c *quitter) SetWriteDeadline(time.Time) error { c.quit("SetWriteDeadline"); return nil }

// Such a connection is ended, and nothing of it stays pending: Close waited for it for ten seconds.
func TestAConnectionThatEndsTheGoroutineIsClosed(t *testing.T) {
	for _, network := range []string{"unix", "unixgram"} {
		for _, in := range []string{"LocalAddr", "Read", "Write", "CloseWrite", "SetReadDeadline", "SetWriteDeadline"} {
			t.Run(network+" "+in, func(t *testing.T) {
				x := newFixture(t, op.Settings{})
				c := &quitter{newScripted(), in, network}
				x.must(x.w.Read("leased", c, nil))
				_ = x.w.ReadBuf("counted", c, 0, time.Time{})
				_ = x.w.Write("write", c, make([]byte, 10))
				_ = x.w.Submit(c, op.Request{Kind: op.EndWrites, Ctx: "end"})
				_ = x.w.WriteBuf("late", c, x.alloc.Get(10), time.Time{})
				<-c.closed
				said := false
				for x.w.Stats().Pending > 0 || !said {
					results, err := x.next()
					x.must(err)
					for _, r := range results {
						said = said || errors.Is(r.Error, op.ErrGoexit)
						if r.Error != nil && !errors.Is(r.Error, op.ErrGoexit) {
							t.Errorf("%v ends with %v", r.Context, r.Error)
						}
					}
				}
			})
		}
	}
}

func TestACloseThatEndsTheGoroutine(t *testing.T) {
	x := newFixture(t, op.Settings{})
	c := &quitter{newScripted(), "Close", "unix"}
	x.must(x.w.Read("read", c, nil))
	x.eventually("it reads", func() bool {
		x.d.mu.Lock()
		defer x.d.mu.Unlock()
		k := x.d.table.conns[c]
		return k != nil && len(k.reads.flight) == 1
	})
	began := time.Now()
	x.must(x.w.Close())
	if d := time.Since(began); d >= closeWait {
		t.Errorf("Close takes %v", d)
	}
}

// Close comes while the memory of a write that is out is given back.
func TestShutdownOfAWriteThatEndsDuringClose(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, _ := x.tcp()
	freeing, gate := make(chan struct{}), make(chan struct{})
	x.must(x.w.WriteBuf("write", near, mem.Wrap(make([]byte, 10), func() {
		close(freeing)
		<-gate
	}), time.Time{}))
	<-freeing
	said := make(chan error, 1)
	go func() { said <- x.w.Shutdown(t.Context()) }()
	x.eventually("Shutdown waits", func() bool { return x.d.state() == draining })
	go x.w.Close()
	x.eventually("Close waits", func() bool { return x.d.state() == closing })
	close(gate)
	if err := <-said; err != nil {
		t.Errorf("Shutdown, with everything written: %v", err)
	}
	if r, _ := x.next(); len(r) != 1 || r[0].Error != nil {
		t.Errorf("the results are %+v", r)
	}
}

func (d *Driver) state() state {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.life.state
}
