package tlsfed_test

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/aio/internal/tlsfed"
	"github.com/sluice-go/sluice/internal/testcert"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// atMost bounds every wait for something that has to happen.
const atMost = time.Minute

// configs returns settings of a server and of a client that trusts it.
func configs(t testing.TB, version uint16) (server, client *tls.Config) {
	t.Helper()
	server, client = testcert.Server(t), testcert.Client(t)
	server.MinVersion, server.MaxVersion, server.ClientCAs = version, version, testcert.Roots(t)
	return server, client
}

// server is an event loop of one connection: it feeds a session with what comes, cut
// into chunks, and sends back what the session reads.
type server struct {
	conn    net.Conn
	session *tlsfed.Session
	memory  *mem.Allocator
	chunk   int
	wake    chan struct{}
	again   chan bool // the goroutine that reads the socket may go on
	paused  bool
	opened  tls.ConnectionState
	read    int // bytes of the client
}

// serve runs a server on the other end of the connection that it returns, which has a
// deadline. ended gets the reason of the server's end.
func serve(t testing.TB, config *tls.Config, chunk int) (client net.Conn, ended chan error, s *server) {
	t.Helper()
	return serveWith(t, config, chunk, &tlsfed.Handshakes{Limit: 4})
}

func serveWith(t testing.TB, config *tls.Config, chunk int, handshakes *tlsfed.Handshakes) (client net.Conn, ended chan error, s *server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if err := client.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	s = &server{chunk: chunk, memory: mem.New(mem.Options{Name: t.Name()}), wake: make(chan struct{}, 4), again: make(chan bool)}
	sluicetest.NoLeaks(t, s.memory)
	if s.conn, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	s.session = tlsfed.New(config, s, s.memory, handshakes, new(sync.WaitGroup))
	ended = make(chan error, 1)
	go func() { ended <- s.run() }()
	return client, ended, s
}

func (s *server) WriteRecords(p []byte, _ bool) error {
	_, err := s.conn.Write(p)
	return err
}

func (s *server) WriteRecordBuf(b mem.Buf, _ bool) error {
	defer b.Release()
	_, err := s.conn.Write(b.Bytes())
	return err
}

func (s *server) Empty() bool          { return true }
func (s *server) Wake()                { s.wake <- struct{}{} }
func (s *server) LocalAddr() net.Addr  { return s.conn.LocalAddr() }
func (s *server) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }

// run is the feeding goroutine.
func (s *server) run() (err error) {
	type arrival struct {
		p   []byte
		err error
	}
	arrivals := make(chan arrival)
	go func() {
		defer close(arrivals)
		for range s.again {
			p := make([]byte, s.chunk)
			n, err := s.conn.Read(p)
			arrivals <- arrival{p[:n], err}
		}
	}()
	frames := aio.Frames{Size: tlsfed.RecordSize, Limit: tlsfed.MaxRecord, Allocator: s.memory}
	defer func() {
		_ = s.session.CloseWrite()
		s.conn.Close()
		s.session.Close()
		frames.Release()
		close(s.again)
		for range arrivals { // the last one
		}
	}()
	s.again <- true
	for {
		select {
		case a := <-arrivals:
			s.paused = false
			err := frames.Add(a.p, func(record []byte) error {
				more, err := s.session.Record(record)
				s.paused = s.paused || !more
				if err == nil {
					err = s.pump()
				}
				return err
			})
			if err != nil {
				return err
			}
			if a.err != nil {
				s.session.End(a.err)
				if err := s.look(); err != nil {
					return err
				}
				continue
			}
			if !s.paused {
				s.again <- true
			}
		case <-s.wake:
			if err := s.look(); err != nil {
				return err
			}
			if s.paused {
				s.paused = false
				s.again <- true
			}
		}
	}
}

// look looks after the handshake.
func (s *server) look() error {
	over, err := s.session.Handshake()
	if err != nil || !over {
		return err
	}
	s.opened = s.session.State()
	return s.pump()
}

// pump sends back what there is to be read.
func (s *server) pump() error {
	if !s.opened.HandshakeComplete {
		return nil
	}
	p := make([]byte, 5000)
	for {
		n, err := s.session.Read(p)
		s.read += n
		if _, err := s.session.Write(p[:n]); err != nil {
			return err
		}
		switch err {
		case nil:
		case tlsfed.ErrNoBytes:
			return nil
		default:
			return err
		}
	}
}

// result waits for the end of a server.
func result(t testing.TB, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(atMost):
		t.Fatal("the server does not end")
		return nil
	}
}

// relay copies between conn and the first client of the address that it returns.
func relay(t testing.TB, conn net.Conn) (address string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var copying sync.WaitGroup
	copying.Go(func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		copying.Go(func() {
			io.Copy(client, conn)
			client.Close()
		})
		io.Copy(conn, client)
		conn.Close()
	})
	return l.Addr().String(), func() {
		l.Close()
		conn.Close()
		copying.Wait()
	}
}
