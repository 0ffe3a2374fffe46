package aio_test

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/internal/testcert"
)

// recordTypes notes the type of the last record that comes.
type recordTypes struct {
	net.Conn
	head []byte
	left int // of the record's content
	last byte
}

func (r *recordTypes) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if r.left > 0 {
			k := min(r.left, len(rest))
			r.left, rest = r.left-k, rest[k:]
			continue
		}
		if r.head, rest = append(r.head, rest[0]), rest[1:]; len(r.head) == 5 {
			r.last, r.left = r.head[0], int(r.head[3])<<8|int(r.head[4])
			r.head = r.head[:0]
		}
	}
	return n, err
}

// The last record of a connection is an alert, close_notify, when the program closes it, the peer
// has ended or the server ends. crypto/tls takes the bare end of the stream for the same; others
// do not.
func TestEndsOverTLSAreAnnounced(t *testing.T) {
	for _, driver := range driversHere(t) {
		closed := make(closings, 4)
		came := make(chan byte, 4)
		s := serveConns(t, &aio.ConnHandler[int]{
			TLS: testcert.Server(t),
			Data: func(c *aio.Conn[int], p []byte) error {
				defer func() { came <- p[0] }()
				switch p[0] {
				case 'p':
					c.Pause()
				case 'c':
					return c.Close()
				case 'e':
					return errOfTheProgram
				}
				return nil
			},
			Closed: func(_ *aio.Conn[int], reason error) { closed <- reason },
		}, aio.Server{Options: aio.Options{Driver: driver}, Grace: atMost})
		s.tls.MaxVersion = tls.VersionTLS12 // whose alerts can be seen
		clients := map[string]*tls.Conn{}
		records := map[string]*recordTypes{}
		for _, what := range []string{"close", "error", "half", "quiet", "paused"} {
			records[what] = &recordTypes{Conn: s.raw()}
			clients[what] = tls.Client(records[what], s.tls)
			if _, err := io.WriteString(clients[what], what); err != nil {
				t.Fatal(err)
			}
			<-came
		}
		if err := clients["half"].CloseWrite(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			closed.wait(t)
		}
		s.stop()
		const alert = 21
		for what, client := range clients {
			if n, err := io.Copy(io.Discard, client); n != 0 || err != nil || records[what].last != alert {
				t.Errorf("%v, %s: %d bytes, %v, and the last record is of type %d", driver, what, n, err, records[what].last)
			}
		}
		s.end()
	}
}

// While a handshake waits for the program, its peer is read from for a limited number of bytes.
func TestHandshakeThatIsHeldUpKeepsLittle(t *testing.T) {
	for _, driver := range driversHere(t) {
		config := testcert.Server(t)
		var begun atomic.Int32
		goOn := make(chan struct{})
		config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if begun.Add(1) == 1 {
				<-goOn
			}
			return nil, nil
		}
		refused := make(closings, 1)
		s := serveConns(t, &aio.ConnHandler[int]{
			TLS:     config,
			Data:    func(c *aio.Conn[int], p []byte) error { _, err := c.Write(p); return err },
			Refused: func(_ net.Addr, err error) { refused <- err },
		}, aio.Server{Options: aio.Options{Driver: driver}})
		held := s.raw()
		go tls.Client(silenced{held}, s.tls).Handshake()
		yieldUntil(t, "its handshake to begin", func() bool { return begun.Load() == 1 })
		record := make([]byte, 5+16<<10)
		copy(record, []byte{22, 3, 3, 16 << 10 >> 8, 0})
		const most = 2000 // records
		var wrote atomic.Int64
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range most {
				if _, err := held.Write(record); err != nil {
					return
				}
				wrote.Add(1)
			}
		}()
		other := s.dial()
		for before := int64(-1); before != wrote.Load(); { // until it gets on no more
			before = wrote.Load()
			for range 20 {
				converse(t, other, 10_000)
			}
		}
		if bytes := s.memory.Stats().OutBytes; wrote.Load() == most || bytes > 1<<20 {
			t.Errorf("%v: %d records of %d are sent, and %d bytes held", driver, wrote.Load(), most, bytes)
		}
		close(goOn)
		if err := refused.wait(t); err == nil {
			t.Errorf("%v: no error", driver)
		}
		<-over
		other.Close()
		s.end()
	}
}
