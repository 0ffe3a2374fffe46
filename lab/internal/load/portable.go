package load

import (
	"context"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/sluice-go/sluice/lab/internal/proc"
)

// portable is the engine over package net: two goroutines for each connection.
// It runs everywhere, and on the time of a testing/synctest bubble.
var portable = loops{1, func() (transport, error) {
	return &streams{came: make(chan event, 256), bell: make(chan struct{}, 1), timer: time.NewTimer(0)}, nil
}}

type streams struct {
	list  []*stream // by the peer's number
	came  chan event
	bell  chan struct{}
	timer *time.Timer
	ended sync.WaitGroup
}

type event struct {
	*stream
	ready
}

type stream struct {
	conn   net.Conn
	number int
	gone   chan struct{} // closed with the connection

	// The reader sends an event for what it has read and waits until that is taken.
	in    []byte
	err   error
	taken chan struct{}

	mu     sync.Mutex // of the rest
	filled chan struct{}
	out    []byte // to be written
	full   bool   // there was no room for more
	failed error
}

func (t *streams) hold() (release func()) { return func() {} }

func (t *streams) open(number int, conn net.Conn) error {
	for len(t.list) <= number {
		t.list = append(t.list, nil)
	}
	s := &stream{conn: conn, number: number, gone: make(chan struct{}), taken: make(chan struct{}, 1), filled: make(chan struct{}, 1)}
	t.list[number] = s
	t.ended.Go(func() { t.read(s) })
	t.ended.Go(func() { t.write(s) })
	return nil
}

func (t *streams) close(number int, _ bool) {
	s := t.list[number]
	close(s.gone)
	s.conn.Close()
}

func (t *streams) end() { t.ended.Wait() }

func (t *streams) post(s *stream, r ready) bool {
	select {
	case t.came <- event{s, r}:
		return true
	case <-s.gone:
		return false
	}
}

func (t *streams) read(s *stream) {
	buf := make([]byte, sendLen)
	for {
		n, err := s.conn.Read(buf)
		s.in, s.err = buf[:n], err
		if !t.post(s, ready{receive: true}) || err != nil {
			return
		}
		select {
		case <-s.taken:
		case <-s.gone:
			return
		}
	}
}

func (t *streams) write(s *stream) {
	var p []byte
	for {
		select {
		case <-s.filled:
		case <-s.gone:
			return
		}
		s.mu.Lock()
		p, s.out = s.out, p[:0]
		full := s.full
		s.full = false
		s.mu.Unlock()
		if len(p) == 0 {
			continue
		}
		_, err := s.conn.Write(p)
		if err != nil {
			s.mu.Lock()
			s.failed = err
			s.mu.Unlock()
		}
		if (full || err != nil) && !t.post(s, ready{send: true}) || err != nil {
			return
		}
	}
}

func (t *streams) send(number int, p []byte) (int, error) {
	s := t.list[number]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return 0, s.failed
	}
	n := min(len(p), sendLen-len(s.out))
	if n == 0 {
		s.full = true
		return 0, errNotReady
	}
	s.out = append(s.out, p[:n]...)
	signal(s.filled)
	return n, nil
}

func (t *streams) receive(number int) (p []byte, more bool, err error) {
	s := t.list[number]
	if p, s.in = s.in, nil; len(p) > 0 {
		return p, s.err != nil, nil
	}
	if s.err != nil {
		return nil, false, s.err
	}
	return nil, false, errNotReady
}

func (t *streams) wait(ctx context.Context, longest time.Duration, serve func(int, ready) error) error {
	t.timer.Reset(longest)
	select {
	case e := <-t.came:
		for {
			if t.list[e.number] == e.stream {
				if err := serve(e.number, e.ready); err != nil {
					return err
				}
			}
			if e.ready.receive {
				e.taken <- struct{}{}
			}
			select {
			case e = <-t.came:
			default:
				return nil
			}
		}
	case <-t.bell:
	case <-t.timer.C:
	case <-ctx.Done():
	}
	return nil
}

func (t *streams) wake() { signal(t.bell) }

func signal(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

func (t *streams) used() int64 { return processTime() }

// processTime is the processor time of this process, as a part of all processors.
func processTime() int64 {
	used, _ := proc.CPU(0) // that of this process is known everywhere
	return int64(used) / int64(min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
}
