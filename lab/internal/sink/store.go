package sink

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sluice-go/sluice/mem"
)

// A Record is the payload of one request, in the memory that it was received in.
type Record = mem.Buf

// A Store keeps records.
type Store interface {
	// Append takes records, at least one. They are transferred, also when it fails: the
	// store releases them. The slice is borrowed until Append returns.
	//
	// done is called exactly once, on any goroutine, before or after Append returns: with the
	// number of the first record, which the others follow without a gap, once they are as
	// durable as the store promises; or with the reason why they will not be. It does
	// not wait for anything. Appends of one goroutine are numbered in their order.
	//
	// Append may wait when too much is under way already. It may be called by many
	// goroutines at once; after Close it is ErrClosed.
	Append(records []Record, done func(first uint64, err error))
	// Failed is closed when the store has failed, for the reason that Err returns: nil while
	// it has not.
	Failed() <-chan struct{}
	Err() error
	// Window says in one line what an acknowledgement promises, and what can be lost.
	Window() string
	// Close finishes what was appended, makes it durable and closes what is below.
	Close() error
}

// ErrFailed: a store will take nothing any more, for the reason that it wraps, and its
// server ends. Other errors of a store are taken to pass: the connection that had one is
// closed, and may come again.
var ErrFailed = errors.New("sink: the store has failed")

// ErrClosed: the store has been closed.
var ErrClosed = errors.New("sink: the store is closed")

// A Log is what Sync needs of a wal.Log. Nothing else may append to it. An error of
// AppendBatch that is wal.ErrTooLong, or has a method Temporary that says true, is about these
// records only; others end the store.
type Log interface {
	AppendBatch(records [][]byte) (first uint64, err error)
	Sync() error
	Close() error
}

// An AsyncLog is what Async needs beyond that.
type AsyncLog interface {
	Log
	LastIndex() uint64
	DurableIndex() uint64
}

// stored is what Async and Sync have in common: a log, transferred, and what gathers for it.
type stored struct {
	log     Log
	queue   *queue
	stop    chan struct{} // closed by Close
	running sync.WaitGroup
}

// Failed implements Store.
func (s *stored) Failed() <-chan struct{} { return s.queue.failing }

// Err implements Store.
func (s *stored) Err() error { return s.queue.err() }

// fail makes err the reason why the store has failed, unless there is one, and returns the
// reason.
func (s *stored) fail(err error) error {
	if !errors.Is(err, ErrFailed) {
		err = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return s.queue.fail(err)
}

// Close implements Store. When the store had failed it returns why.
func (s *stored) Close() error {
	if !s.queue.close() {
		return nil
	}
	close(s.stop)
	s.running.Wait()
	err := s.log.Close()
	if failed := s.queue.err(); failed != nil {
		return failed // rather than what follows from it
	}
	return err
}
