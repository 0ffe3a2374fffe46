package echobench

import (
	"errors"
	"net"

	"github.com/sluice-go/sluice/aio"
)

// ownBuffer is how long the buffer of a connection is: longer than a message, so
// that a read of a whole one is a short one, after which the watcher need not
// look whether there is more.
func ownBuffer(size int) int { return max(1<<10, 2*size) }

// serveAIO gives each connection a buffer for life.
func serveAIO(l *net.TCPListener, size int, counter *ConnCounter) error {
	e, err := newWatched(counter)
	if err != nil {
		return err
	}
	return e.run(l, func() []byte { return make([]byte, ownBuffer(size)) }, func(r *aio.OpResult) error {
		if r.Operation == aio.OpRead {
			return e.w.Write(nil, r.Conn, r.Buffer[:r.Size])
		}
		return e.w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
	})
}

// serveAIONil has no buffer at all. What a read returns is the watcher's, which
// keeps it for as long as a write of it takes.
func serveAIONil(l *net.TCPListener, _ int, counter *ConnCounter) error {
	e, err := newWatched(counter)
	if err != nil {
		return err
	}
	return e.run(l, func() []byte { return nil }, func(r *aio.OpResult) error {
		if r.Operation == aio.OpRead {
			return e.w.Write(nil, r.Conn, r.Buffer)
		}
		return e.w.Read(nil, r.Conn, nil)
	})
}

// watched is a server on a watcher.
type watched struct {
	w       *aio.Watcher
	counter *ConnCounter
}

func newWatched(counter *ConnCounter) (*watched, error) {
	w, err := aio.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &watched{w: w, counter: counter}, nil
}

// run accepts connections and submits the first read of each, into what first
// returns; step submits what comes after a completion.
func (e *watched) run(l *net.TCPListener, first func() []byte, step func(*aio.OpResult) error) error {
	ended := make(chan error, 1)
	go func() {
		defer e.w.Close()
		for {
			conn, err := l.AcceptTCP()
			if err != nil {
				ended <- err
				return
			}
			e.counter.Opened()
			if e.w.Read(nil, conn, first()) != nil {
				e.drop(conn)
			}
		}
	}()
	for {
		results, err := e.w.WaitIO()
		for i := range results {
			r := &results[i]
			// One operation at a time is under way on a connection, so that it is
			// dropped once.
			if r.Error != nil || step(r) != nil {
				e.drop(r.Conn)
			}
		}
		if errors.Is(err, aio.ErrWatcherClosed) {
			return <-ended
		}
		if err != nil {
			return err
		}
	}
}

func (e *watched) drop(conn net.Conn) {
	e.w.Free(conn)
	e.counter.Closed()
}
