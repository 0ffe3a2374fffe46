package planted

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// smallWrites sends events of 64 bytes to a collector. The fault: each goes
// straight to the connection, and so is a system call and a segment of its own.
func smallWrites() lab.Scenario {
	return plant("small-writes", "events of 64 bytes sent to a collector over loopback TCP", "event", 10_000,
		way{"each event is written to the connection", func(lab.Env) (lab.Runner, error) {
			return newEventSource(func(conn net.Conn) eventSink { return eventSink{w: conn} })
		}},
		way{"events are gathered in a bufio.Writer of 64 KiB", func(lab.Env) (lab.Runner, error) {
			return newEventSource(func(conn net.Conn) eventSink {
				w := bufio.NewWriterSize(conn, 64<<10)
				return eventSink{w: w, flush: w.Flush}
			})
		}},
	)
}

// eventSize is the length of an encoded event.
const eventSize = 64

// An event is something that happened.
type event struct {
	number, time         uint64
	source, kind, weight uint32
}

// An eventSink encodes events and writes them.
type eventSink struct {
	w     io.Writer
	flush func() error // nil when nothing is held back
	buf   [eventSize]byte
}

// send writes one event. It keeps nothing.
func (s *eventSink) send(e event) error {
	b := s.buf[:]
	binary.BigEndian.PutUint64(b[0:], e.number)
	binary.BigEndian.PutUint64(b[8:], e.time)
	binary.BigEndian.PutUint32(b[16:], e.source)
	binary.BigEndian.PutUint32(b[20:], e.kind)
	binary.BigEndian.PutUint32(b[24:], e.weight)
	_, err := s.w.Write(b)
	return err
}

// An eventSource sends events over a connection whose other end collects them.
type eventSource struct {
	conn *net.TCPConn
	sink eventSink
	far  *collector
}

func newEventSource(open func(net.Conn) eventSink) (lab.Runner, error) {
	near, far, err := loopback()
	if err != nil {
		return nil, err
	}
	return &eventSource{conn: near, sink: open(near), far: newCollector(far)}, nil
}

func (s *eventSource) Run(ops int) (lab.Sample, error) {
	bytes := int64(ops) * eventSize
	s.far.expect(bytes)
	for i := range uint64(ops) {
		e := event{number: i, time: i * 1000, source: uint32(i * 7 % 64), kind: uint32(i % 5), weight: uint32(i >> 3)}
		if err := s.sink.send(e); err != nil {
			return lab.Sample{}, err
		}
	}
	if s.sink.flush != nil {
		if err := s.sink.flush(); err != nil {
			return lab.Sample{}, err
		}
	}
	sum, err := s.far.sum()
	return lab.Sample{Bytes: bytes, Check: uint64(sum)}, err
}

func (s *eventSource) Close() error {
	err := s.conn.Close()
	if farErr := s.far.close(); err == nil {
		err = farErr
	}
	return err
}
