package aio_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/sys"
)

// So many connections at once, each of which echoes a few messages of 1 KiB:
// first with an own buffer for each connection, then with none. The times that
// they log grow with the number of connections and no faster.

func Test1k(t *testing.T)  { testConnections(t, 1<<10) }
func Test2k(t *testing.T)  { testConnections(t, 2<<10) }
func Test4k(t *testing.T)  { testConnections(t, 4<<10) }
func Test8k(t *testing.T)  { testConnections(t, 8<<10) }
func Test10k(t *testing.T) { testConnections(t, 10<<10) }
func Test12k(t *testing.T) { testConnections(t, 12<<10) }

const (
	crowdMessage = 1 << 10
	crowdRounds  = 4
	// crowdTime bounds one run; 12k connections take a second or two.
	crowdTime = 60 * time.Second
	// crowdSlack is how many descriptors the process needs beside connections.
	crowdSlack = 200
)

func testConnections(t *testing.T, n int) {
	fewest := n == 1<<10
	if n > 4<<10 && testing.Short() {
		t.Skip("many connections take their time")
	}
	if sys.Race && !fewest {
		t.Logf("%d connections instead of %d under the race detector", n/8, n)
		n /= 8
	}
	t.Run("own buffers", func(t *testing.T) { runCrowd(t, aio.Auto, n, true) })
	t.Run("nil buffers", func(t *testing.T) { runCrowd(t, aio.Auto, n, false) })
	if fewest {
		t.Run("own buffers, std", func(t *testing.T) { runCrowd(t, aio.Std, n, true) })
		t.Run("nil buffers, std", func(t *testing.T) { runCrowd(t, aio.Std, n, false) })
	}
}

// runCrowd serves n connections of a crowd, which is in this process if
// descriptors allow, and in a child else.
func runCrowd(t *testing.T, driver aio.Driver, n int, own bool) {
	limit := descriptorLimit(t)
	crowd := joinCrowd
	switch {
	case 2*n+crowdSlack <= limit:
	case n+crowdSlack <= limit:
		crowd = sendCrowd
		t.Logf("the clients are a process of their own: %d descriptors allow no %d pairs", limit, n)
	default:
		t.Skipf("%d descriptors allow no %d connections", limit, n)
	}
	l, err := net.Listen("tcp", ownAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w, err := aio.NewWatcherOptions(aio.Options{Driver: driver})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	overdue := time.AfterFunc(crowdTime, func() {
		t.Errorf("not done after %v", crowdTime)
		_ = l.Close()
		_ = w.Close()
	})
	defer overdue.Stop()
	s := &crowdServer{w: w, own: own}
	accepted := make(chan error, 1)
	go func() { accepted <- s.accept(l, n) }()
	served := make(chan error, 1)
	go func() { served <- s.serve(n) }()
	times, err := crowd(l.Addr().String(), n)
	if err != nil {
		t.Errorf("clients: %v", err)
		_ = l.Close()
		_ = w.Close()
	}
	if err := <-accepted; err != nil {
		t.Errorf("accepting: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serving: %v", err)
	}
	if want := n * crowdRounds * crowdMessage; s.bytes != want && !t.Failed() {
		t.Errorf("%d bytes were echoed, not %d", s.bytes, want)
	}
	t.Logf("%d connections: connected and greeted in %v, %d more rounds in %v, %v an echo", n,
		times.greeted.Round(time.Millisecond), crowdRounds-1, times.rounds.Round(time.Millisecond),
		(times.rounds / time.Duration(n*(crowdRounds-1))).Round(10*time.Nanosecond))
}

// A crowdServer echoes what comes, piece by piece.
type crowdServer struct {
	w     *aio.Watcher
	own   bool     // each connection has a buffer of its own
	spare [][]byte // without: buffers for what is on its way out
	bytes int
}

func (s *crowdServer) accept(l net.Listener, n int) error {
	for range n {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		var p []byte
		if s.own {
			p = make([]byte, crowdMessage)
		}
		if err := s.w.Read(nil, conn, p); err != nil {
			return err
		}
	}
	return nil
}

// serve returns when n connections have ended.
func (s *crowdServer) serve(n int) error {
	for ended := 0; ended < n; {
		results, err := s.w.WaitIO()
		if err != nil {
			return fmt.Errorf("after %d of %d connections: %w", ended, n, err)
		}
		for i := range results {
			r := &results[i]
			switch {
			case r.Error != nil && r.Operation == aio.OpRead: // the client has left
				ended++
				err = s.w.Free(r.Conn)
			case r.Error == io.ErrClosedPipe:
				// Std was about to report this write when its client had left.
			case r.Error != nil:
				err = fmt.Errorf("writing: %w", r.Error)
			case r.Operation == aio.OpRead:
				s.bytes += r.Size
				err = s.echo(r)
			case s.own:
				err = s.w.Read(nil, r.Conn, r.Buffer[:crowdMessage])
			default:
				s.spare = append(s.spare, r.Buffer[:crowdMessage])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// echo writes back what was read. A buffer borrowed from the watcher is copied
// first, because the write may outlast its lease; so the next read need not wait
// for the write.
func (s *crowdServer) echo(r *aio.OpResult) error {
	if s.own {
		return s.w.Write(nil, r.Conn, r.Buffer[:r.Size])
	}
	for p := r.Buffer; len(p) > 0; {
		var q []byte
		if k := len(s.spare); k > 0 {
			q, s.spare = s.spare[k-1], s.spare[:k-1]
		} else {
			q = make([]byte, crowdMessage)
		}
		q = q[:copy(q, p)]
		p = p[len(q):]
		if err := s.w.Write(nil, r.Conn, q); err != nil {
			return err
		}
	}
	return s.w.Read(nil, r.Conn, nil)
}
