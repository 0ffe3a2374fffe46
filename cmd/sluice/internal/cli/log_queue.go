package cli

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	// mostQueued is how many bytes of the log wait for the program that reads it.
	mostQueued = 1 << 20
	// logEnd is how long the end of the server waits for that program.
	logEnd = time.Second
)

// A logQueue is where a server's log goes: a pipe, often. When nothing reads it for a while, no
// session waits for that, and when nothing does any more, the server goes on. Lines that do not
// fit are left out, and counted. It is safe for concurrent use.
type logQueue struct {
	out io.Writer

	mu      sync.Mutex
	waiting []byte
	lost    int // lines, since the latest in waiting
	closed  bool

	grown chan struct{} // has an element when there is something to do
	over  chan struct{} // closed when nothing more is written
}

// newLogQueue begins to write. lost writes into out, in their place, how many lines were left out.
func newLogQueue(out io.Writer, lost func(lines int)) *logQueue {
	q := &logQueue{out: out, grown: make(chan struct{}, 1), over: make(chan struct{})}
	go q.run(lost)
	return q
}

// Write implements io.Writer. It never waits for the reader.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lost > 0 || len(q.waiting)+len(line) > mostQueued {
		q.lost++
	} else {
		q.waiting = append(q.waiting, line...)
	}
	q.notify()
	return len(line), nil
}

func (q *logQueue) notify() {
	select {
	case q.grown <- struct{}{}:
	default:
	}
}

func (q *logQueue) run(lost func(lines int)) {
	defer close(q.over)
	for range q.grown {
		q.mu.Lock()
		lines, missed, last := q.waiting, q.lost, q.closed
		q.waiting, q.lost = nil, 0
		q.mu.Unlock()
		_, _ = q.out.Write(lines) // nothing is left to say that with
		if missed > 0 {
			lost(missed)
		}
		if last {
			return
		}
	}
}

// close writes what waits, within logEnd.
func (q *logQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.notify()
	select {
	case <-q.over:
	case <-time.After(logEnd):
	}
}

// keepBrokenPipes makes writing into a pipe that nothing reads any more an error, until stop: on
// standard error it would end the program otherwise. The programs that this one starts are not
// affected, as they would be by ignoring the signal.
func keepBrokenPipes() (stop func()) {
	broken := make(chan os.Signal, 1) // nothing receives
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}
