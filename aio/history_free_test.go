package aio_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/sys"
)

// The first submissions on a connection run at the same time as its Free. In every
// order the connection is closed after Free and accepts no operation any more, and
// every submission was refused or completes.
func TestFreeMeetsTheFirstSubmissions(t *testing.T) {
	rounds := 1500
	if sys.Race || testing.Short() {
		rounds = 300
	}
	onEachDriver(t, func(t *testing.T, driver aio.Driver) {
		for _, network := range socketKinds() {
			t.Run(network, func(t *testing.T) { freeAtOnce(t, driver, newPairMaker(t, network), rounds) })
		}
	})
}

func freeAtOnce(t *testing.T, driver aio.Driver, maker *pairMaker, rounds int) {
	const submitters = 3
	w, err := aio.NewWatcherOptions(aio.Options{Driver: driver})
	if err != nil {
		t.Fatal(err)
	}
	completed := make(chan error, submitters*rounds)
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for {
			results, err := w.WaitIO()
			for i := range results {
				completed <- results[i].Error
			}
			if err != nil {
				return
			}
		}
	}()
	accepted := 0
	for i := range rounds {
		server, client, err := maker.pair()
		if err != nil {
			t.Fatal(err)
		}
		start := make(chan struct{})
		var all sync.WaitGroup
		errs := make([]error, submitters)
		for s := range errs {
			all.Go(func() {
				<-start
				errs[s] = w.Read(nil, server, make([]byte, 10))
			})
		}
		all.Go(func() {
			<-start
			if err := w.Free(server); err != nil {
				t.Errorf("round %d: Free: %v", i, err)
			}
		})
		close(start)
		all.Wait()
		for _, err := range errs {
			switch err {
			case nil:
				accepted++
			case aio.ErrConnClosed:
			default:
				t.Errorf("round %d: Read: %v", i, err)
			}
		}
		if err := w.Read(nil, server, make([]byte, 10)); err != aio.ErrConnClosed {
			t.Fatalf("round %d: a Read after Free: %v, want ErrConnClosed", i, err)
		}
		if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Fatalf("round %d: the peer has %d bytes and %v, want the end", i, n, err)
		}
		_ = client.Close()
		if n := w.Stats().Conns; n != 0 {
			t.Fatalf("round %d: %d connections after Free", i, n)
		}
	}
	_ = w.Close()
	<-collected
	close(completed)
	for err := range completed {
		accepted--
		if err != io.ErrClosedPipe {
			t.Errorf("a Read completed with %v", err)
		}
	}
	if accepted != 0 {
		t.Errorf("%d more were accepted than completed", accepted)
	}
}

// A slowCloser is a connection whose Close takes its time.
type slowCloser struct {
	*net.TCPConn
	closing, goOn chan struct{}
	entered       atomic.Bool
}

func (c *slowCloser) Close() error {
	if c.entered.CompareAndSwap(false, true) {
		close(c.closing)
		<-c.goOn
	}
	return c.TCPConn.Close()
}

// The watcher has the descriptor before it has closed the original. No submission
// may take the original over a second time meanwhile.
func TestAFreedConnectionIsNotTakenOverAgain(t *testing.T) {
	w, err := aio.NewWatcherOptions(aio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if d, _ := w.Driver(); d == aio.Std {
		t.Skip("Std takes nothing over")
	}
	server, client := newPairMaker(t, "tcp").mustPair(t)
	conn := &slowCloser{TCPConn: server.(*net.TCPConn), closing: make(chan struct{}), goOn: make(chan struct{})}
	first := make(chan error, 1)
	go func() { first <- w.Read(nil, conn, make([]byte, 10)) }()
	<-conn.closing
	if err := w.Free(conn); err != nil {
		t.Errorf("Free: %v", err)
	}
	if err := w.Read(nil, conn, make([]byte, 10)); err != aio.ErrConnClosed {
		t.Errorf("a Read after Free: %v, want ErrConnClosed", err)
	}
	close(conn.goOn)
	if err := <-first; err != aio.ErrConnClosed {
		t.Errorf("the Read that was freed before it began: %v, want ErrConnClosed", err)
	}
	if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the peer has %d bytes and %v, want the end", n, err)
	}
	if s := w.Stats(); s.Conns != 0 || s.Delegated != 1 || s.Freed != 1 {
		t.Errorf("%d connections, %d taken over, %d freed; want 0, 1, 1", s.Conns, s.Delegated, s.Freed)
	}
}
