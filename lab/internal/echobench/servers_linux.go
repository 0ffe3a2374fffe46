package echobench

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// A Server is a way to echo.
type Server struct {
	Name  string
	About string // one line: what it is and who would write it
	TLS   bool   // it speaks TLS, with a certificate of its own
	Serve serve
}

// serve echoes whatever the connections of l bring, which are messages of that size, until
// accepting fails or the process ends. counter counts the open connections.
type serve func(l *net.TCPListener, size int, counter *ConnCounter) error

// buffer is how many bytes the servers read at once: the 4 KiB that people
// write for small messages, and a whole message where that is longer.
func buffer(size int) int { return max(4<<10, size) }

// Servers are all ways, the bare one last.
func Servers() []Server {
	return []Server{
		{"aio", "aio.Watcher: one goroutine in WaitIO, a buffer for each connection", false, serveAIO(true)},
		{"aio-nil", "aio.Watcher: reads without a buffer, copied into one of a free list until they are written", false, serveAIO(false)},
		{"aio-conns", "aio.Serve with a ConnHandler: accepted in the watcher, one callback for what has come", false, serveConns(false)},
		{"std-4K", "a goroutine for each connection, with a buffer of 4 KiB", false, serveStd(4 << 10)},
		{"std-64K", "a goroutine for each connection, with a buffer of 64 KiB", false, serveStd(64 << 10)},
		{"std-pooled", "a goroutine for each connection, a buffer from a pool only while there are bytes (RawConn.Read)", false, servePooled},
		{"bufio-4K", "a goroutine and a bufio.Reader of 4 KiB for each connection, its default", false, serveBufio},
		{"next", "a goroutine and our BufReader for each connection", false, serveNext},
		{"netpoll", "cloudwego/netpoll: an EventLoop with OnRequest, views of what came, go instead of its pool of goroutines", false, serveNetpoll},
		{"aio-tls", "aio.Serve with a ConnHandler and TLS: no goroutine for a connection", true, serveConns(true)},
		{"std-tls", "crypto/tls: a goroutine for each connection, with a buffer of 4 KiB", true, serveStdTLS},
		{"floor", "recv and send in one thread over epoll, nothing else: the floor", false, serveFloor},
	}
}

// Lookup finds a server by name.
func Lookup(name string) (Server, error) {
	for _, s := range Servers() {
		if s.Name == name {
			return s, nil
		}
	}
	return Server{}, fmt.Errorf("echo: there is no server %s", strconv.Quote(name))
}

// Supported is an error that wraps errors.ErrUnsupported where the server does not
// compile for this processor.
func (s Server) Supported() error {
	if s.Serve == nil {
		return fmt.Errorf("echo: %s does not compile for this processor: %w", s.Name, errors.ErrUnsupported)
	}
	return nil
}

func serveFloor(l *net.TCPListener, size int, counter *ConnCounter) error {
	same := func(p []byte) []byte { return p }
	f := rawio.Floor{
		Buffer: 2 * buffer(size), Closed: func(*rawio.Conn) { counter.Add(-1) },
		Open: func(*rawio.Conn) func(p []byte) []byte {
			counter.Add(1)
			return same
		},
	}
	return f.Serve(l)
}

// A ConnCounter is the number of a server's open connections.
type ConnCounter struct{ atomic.Int64 }

// Drained returns when there is no connection left, or with an error after the
// longest that this may take.
func (c *ConnCounter) Drained(longest time.Duration) error {
	for end := time.Now().Add(longest); c.Load() > 0; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			return fmt.Errorf("echo: %d connections are open %v after the client closed them", c.Load(), longest)
		}
	}
	return nil
}

func acceptAll(l *net.TCPListener, counter *ConnCounter, serve func(*net.TCPConn) error) error {
	for {
		conn, err := l.AcceptTCP()
		if err != nil {
			return err
		}
		counter.Add(1)
		go func() {
			defer counter.Add(-1)
			defer conn.Close()
			// The client checks how a connection ends, and reports it.
			_ = serve(conn)
		}()
	}
}

func serveStd(size int) serve {
	return func(l *net.TCPListener, _ int, counter *ConnCounter) error {
		return acceptAll(l, counter, func(conn *net.TCPConn) error { return sendBack(conn, make([]byte, size)) })
	}
}

// sendBack is what people write.
func sendBack(conn net.Conn, buf []byte) error {
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}

func serveStdTLS(l *net.TCPListener, size int, counter *ConnCounter) error {
	config, err := selfSigned()
	if err != nil {
		return err
	}
	return acceptAll(l, counter, func(conn *net.TCPConn) error {
		return sendBack(tls.Server(conn, config), make([]byte, buffer(size)))
	})
}

func servePooled(l *net.TCPListener, size int, counter *ConnCounter) error {
	pool := &sync.Pool{New: func() any {
		buf := make([]byte, buffer(size))
		return &buf
	}}
	return acceptAll(l, counter, func(conn *net.TCPConn) error {
		raw, err := conn.SyscallConn()
		if err != nil {
			return err
		}
		p := &pooled{pool: pool}
		ready := p.ready // one closure for all reads
		for {
			if err := raw.Read(ready); err != nil {
				return err
			}
			if p.err != nil {
				return p.err
			}
			_, err := conn.Write((*p.buf)[:p.n])
			pool.Put(p.buf)
			p.buf = nil
			if err != nil {
				return err
			}
		}
	})
}

// pooled waits without a buffer.
type pooled struct {
	pool *sync.Pool
	buf  *[]byte // has n bytes
	n    int
	err  error
}

// ready takes a buffer and reads, and keeps it only if there was something.
func (p *pooled) ready(fd uintptr) bool {
	p.buf = p.pool.Get().(*[]byte)
	for {
		p.n, p.err = syscall.Read(int(fd), *p.buf)
		if p.err != syscall.EINTR {
			break
		}
	}
	if p.err == nil && p.n > 0 {
		return true
	}
	p.pool.Put(p.buf)
	p.buf = nil
	if p.err == syscall.EAGAIN {
		return false
	}
	if p.err == nil {
		p.err = io.EOF
	}
	return true
}

func serveBufio(l *net.TCPListener, _ int, counter *ConnCounter) error {
	return acceptAll(l, counter, func(conn *net.TCPConn) error {
		r := bufio.NewReader(conn)
		for {
			if _, err := r.Peek(1); err != nil {
				return err
			}
			p, _ := r.Peek(r.Buffered()) // it is there
			if _, err := conn.Write(p); err != nil {
				return err
			}
			r.Discard(len(p))
		}
	})
}

func serveNext(l *net.TCPListener, size int, counter *ConnCounter) error {
	return acceptAll(l, counter, func(conn *net.TCPConn) error {
		r := sluice.NewBufReader(conn)
		defer r.Recycle()
		for {
			p, err := r.Next(size)
			if err != nil {
				return err
			}
			if _, err := conn.Write(p); err != nil {
				return err
			}
		}
	})
}
