package sink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
)

// linger is how long the end of a connection waits for its client to have read the
// last answers: closing at once, with bytes unread, would take them back with a reset.
const linger = time.Second

var errCutOff = errors.New("cut off")

// A conn is a connection. One goroutine reads requests and gives them to the store, another
// writes answers, in the order of the requests.
type conn struct {
	net.Conn
	server *Server

	answers chan *answer  // in the order of the requests; closed when nothing more is read
	gone    chan struct{} // closed when the connection is broken

	mu       sync.Mutex
	room     sync.Cond // the reader may go on
	inFlight int       // records, also those whose answers are being written
	finished bool      // by the server: read nothing more
	broken   error     // no answers are written any more
}

type answer struct {
	n     int   // records
	bytes int64 // payload
	first uint64
	err   error
	ready chan struct{} // closed when both are known
}

func (a *answer) set(first uint64, err error) {
	a.first, a.err = first, err
	close(a.ready)
}

func (a *answer) isReady() bool {
	if a == nil {
		return false
	}
	select {
	case <-a.ready:
		return true
	default:
		return false
	}
}

func newConn(s *Server, nc net.Conn) *conn {
	// An answer is to one record in flight at least, so that sending one never waits.
	c := &conn{Conn: nc, server: s, answers: make(chan *answer, s.settings.InFlight), gone: make(chan struct{})}
	c.room.L = &c.mu
	return c
}

func (c *conn) serve() {
	var writing sync.WaitGroup
	var failed error // of the store
	writing.Go(func() { failed = c.write() })
	why := c.read()
	close(c.answers)
	writing.Wait()
	switch {
	case failed != nil:
		c.server.refuse(c, failed)
	case errors.Is(why, errRefused):
		c.server.refuse(c, why)
		c.linger()
	case why != nil: // the end of the server: the client may be sending
		c.linger()
	}
	c.Close()
}

var errRefused = errors.New("refused")

// read reads requests. It returns nil when the client has ended or is gone, and
// otherwise why no more is read.
func (c *conn) read() error {
	in := sluice.NewBufReader(c.Conn)
	defer in.Recycle()
	most := c.server.settings.MaxRecord
	in.SetLimits(sluice.Options{Frame: max(most, 4)})
	var records []Record // scratch
	for {
		room := c.waitRoom()
		if room == 0 {
			return nil
		}
		b, err := c.readRecord(in, most)
		if err != nil {
			return c.readEnd(in, err)
		}
		// And what has come with it, without waiting.
		for records = append(records, b); len(records) < room && in.Buffered() >= 4; records = append(records, b) {
			head, _ := in.Peek(4)
			length := binary.BigEndian.Uint32(head)
			if uint64(length) > uint64(most) || in.Buffered()-4 < int(length) {
				break
			}
			_ = in.Skip(4)
			if b, err = in.ReadBuf(int(length)); err != nil {
				panic(fmt.Sprintf("sink: %d bytes that are there cannot be read: %v", length, err))
			}
		}
		c.append(records)
		records = records[:0]
	}
}

// slowest is the least rate, in bytes a second, at which a client must send the rest of
// a record: the read deadline is Settings.Timeout and the time that this rate takes.
const slowest = 64 << 10

// readRecord reads a request. Between requests a client may be silent for as long as
// it likes; within one it has to go on.
func (c *conn) readRecord(in *sluice.BufReader, most int) (Record, error) {
	if _, err := in.Peek(1); err != nil {
		return Record{}, err
	}
	if head, _ := in.Peek(min(4, in.Buffered())); len(head) < 4 || in.Buffered()-4 < int(min(binary.BigEndian.Uint32(head), uint32(most))) {
		c.limitRead(0)
		defer c.limitRead(-1)
	}
	length, err := in.ReadBE32(4)
	if err != nil {
		return Record{}, err
	}
	if uint64(length) > uint64(most) {
		return Record{}, fmt.Errorf("%w: a record of %d bytes, at most %d are taken", errRefused, length, most)
	}
	if in.Buffered() < int(length) {
		c.limitRead(int(length))
	}
	return in.ReadBuf(int(length))
}

// limitRead sets the read deadline for n more bytes, or removes it for n below 0.
func (c *conn) limitRead(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.finished:
	case n < 0:
		c.SetReadDeadline(time.Time{})
	default:
		c.SetReadDeadline(time.Now().Add(c.server.settings.Timeout + time.Duration(n)*time.Second/slowest))
	}
}

func (c *conn) readEnd(in *sluice.BufReader, err error) error {
	var timeout net.Error
	switch {
	case errors.Is(err, errRefused):
		return err
	case errors.As(err, &timeout) && timeout.Timeout():
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.finished {
			return errCutOff
		}
		return fmt.Errorf("%w: stopped within a record, with %d bytes of it", errRefused, in.Buffered())
	case errors.Is(err, io.ErrUnexpectedEOF):
		c.server.settings.OnError(fmt.Errorf("%v: ended inside a record, with %d bytes of it", c.RemoteAddr(), in.Buffered()))
	}
	return nil
}

// waitRoom waits until records may be read, and returns how many, 0 when the
// connection is broken.
func (c *conn) waitRoom() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.broken == nil && c.inFlight >= c.server.settings.InFlight {
		c.room.Wait()
	}
	if c.broken != nil {
		return 0
	}
	return c.server.settings.InFlight - c.inFlight
}

// append gives records, transferred, to the store.
func (c *conn) append(records []Record) {
	a := &answer{n: len(records), bytes: Payload(records), ready: make(chan struct{})}
	c.mu.Lock()
	c.inFlight += a.n
	c.mu.Unlock()
	c.answers <- a
	c.server.store.Append(records, a.set)
	clear(records)
}

// write writes answers until everything is answered that was read, or the connection
// breaks, or the store fails, which it returns.
func (c *conn) write() error {
	out := sluice.NewBufWriter(c.Conn)
	defer out.Recycle()
	out.SetTimeout(c.server.settings.Timeout)
	var a *answer
	for {
		if a == nil {
			select {
			case a = <-c.answers:
			case <-c.gone:
			}
		}
		if a == nil {
			return nil
		}
		select {
		case <-a.ready:
		case <-c.gone:
			return nil
		}
		// It and those behind it that are ready go together.
		n, bytes := 0, int64(0)
		for a.isReady() && a.err == nil {
			var b [8]byte
			for i := range a.n {
				binary.BigEndian.PutUint64(b[:], a.first+uint64(i))
				out.Write(b[:]) // an error stays until Flush
			}
			n, bytes = n+a.n, bytes+a.bytes
			select {
			case a = <-c.answers:
			default:
				a = nil
			}
		}
		if n > 0 && !c.flush(out, n, bytes) {
			return nil
		}
		if a.isReady() && a.err != nil {
			c.drop(a.err)
			return a.err
		}
	}
}

func (c *conn) flush(out *sluice.BufWriter, n int, bytes int64) bool {
	if err := out.Flush(); err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			c.server.settings.OnError(fmt.Errorf("%v: took no answers for %v", c.RemoteAddr(), c.server.settings.Timeout))
		}
		c.drop(err)
		return false
	}
	c.server.records.Add(uint64(n))
	c.server.bytes.Add(uint64(bytes))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight -= n
	c.room.Signal()
	return true
}

func (c *conn) drop(why error) {
	c.mu.Lock()
	if c.broken == nil {
		c.broken = why
		close(c.gone)
	}
	c.room.Signal()
	c.mu.Unlock()
	c.Conn.Close()
}

func (c *conn) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	c.SetReadDeadline(time.Unix(1, 0))
}

// linger ends the connection for the client, and waits until it has seen that.
func (c *conn) linger() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.SetReadDeadline(time.Now().Add(linger))
	io.Copy(io.Discard, c.Conn)
}
