package planted

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// lockOverIO stores records in a store that takes a moment for each, over
// several sessions at the same time. The fault: the mutex of the client's books is held while the answer is
// awaited, so that one session works and the others wait.
func lockOverIO() lab.Scenario {
	return plant("lock-over-io", "records of 2 KiB stored over eight sessions by eight goroutines, each record acknowledged", "record", 200,
		way{"the mutex around the client's books is held over the exchange", func(lab.Env) (lab.Runner, error) {
			return newStoring((*storeClient).putLocked)
		}},
		way{"the mutex is held for the books only", func(lab.Env) (lab.Runner, error) {
			return newStoring((*storeClient).put)
		}},
	)
}

const (
	storeSessions = 8
	recordSize    = 2 << 10
	storeTakes    = time.Millisecond // for each record
)

// A storeClient keeps the books on what the store has taken.
type storeClient struct {
	mu     sync.Mutex
	stored map[uint32]uint32 // by session: how many records
	bytes  int64
}

// A storeSession is a connection to the store with its buffers.
type storeSession struct {
	id     uint32
	conn   *net.TCPConn
	record [recordSize]byte
	answer [recordSize]byte
	sum    uint32
}

// exchange sends the record and reads the store's answer, which repeats it.
func (s *storeSession) exchange() error {
	if _, err := s.conn.Write(s.record[:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(s.conn, s.answer[:]); err != nil {
		return err
	}
	s.sum = crc32.Update(s.sum, castagnoli, s.answer[:])
	return nil
}

// note enters a record; mu is held.
func (c *storeClient) note(s *storeSession) {
	c.stored[s.id]++
	c.bytes += recordSize
}

// putLocked stores the session's record.
func (c *storeClient) putLocked(s *storeSession) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.exchange(); err != nil {
		return fmt.Errorf("session %d: %w", s.id, err)
	}
	c.note(s)
	return nil
}

// put stores the session's record.
func (c *storeClient) put(s *storeSession) error {
	if err := s.exchange(); err != nil {
		return fmt.Errorf("session %d: %w", s.id, err)
	}
	c.mu.Lock()
	c.note(s)
	c.mu.Unlock()
	return nil
}

// storing is the sessions' goroutines and the store, which is in this process.
type storing struct {
	client   storeClient
	sessions []*storeSession
	far      []net.Conn
	store    sync.WaitGroup
	put      func(*storeClient, *storeSession) error
}

func newStoring(put func(*storeClient, *storeSession) error) (lab.Runner, error) {
	s := &storing{client: storeClient{stored: map[uint32]uint32{}}, put: put}
	for i := range uint32(storeSessions) {
		near, far, err := loopback()
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		session := &storeSession{id: i, conn: near}
		for j := range session.record {
			session.record[j] = byte(j*int(i+1) + j>>3)
		}
		s.sessions = append(s.sessions, session)
		s.far = append(s.far, far)
		s.store.Go(func() { answer(far) })
	}
	return s, nil
}

// answer is the store: it sends each record back, after a while.
func answer(conn net.Conn) {
	var record [recordSize]byte
	disk := time.NewTimer(storeTakes)
	defer disk.Stop()
	for {
		if _, err := io.ReadFull(conn, record[:]); err != nil {
			return
		}
		disk.Reset(storeTakes)
		<-disk.C
		if _, err := conn.Write(record[:]); err != nil {
			return
		}
	}
}

func (s *storing) Run(ops int) (lab.Sample, error) {
	before := s.client.bytes
	errs := make([]error, len(s.sessions))
	var busy sync.WaitGroup
	part := ops / len(s.sessions)
	for i, session := range s.sessions {
		n := part
		if i == 0 {
			n = ops - part*(len(s.sessions)-1)
		}
		session.sum = 0
		busy.Go(func() {
			for range n {
				if errs[i] = s.put(&s.client, session); errs[i] != nil {
					return
				}
			}
		})
	}
	busy.Wait()
	bytes := s.client.bytes - before
	check := uint64(bytes) << 32
	for _, session := range s.sessions {
		check += uint64(session.sum)
	}
	return lab.Sample{Bytes: bytes, Check: check}, errors.Join(errs...)
}

func (s *storing) Close() error {
	var errs []error
	for i, session := range s.sessions {
		errs = append(errs, session.conn.Close(), s.far[i].Close())
	}
	s.store.Wait()
	return errors.Join(errs...)
}
