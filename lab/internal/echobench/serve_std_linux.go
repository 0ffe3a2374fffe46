package echobench

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/sluice-go/sluice"
)

func acceptAll(l *net.TCPListener, counter *ConnCounter, serve func(*net.TCPConn) error) error {
	for {
		conn, err := l.AcceptTCP()
		if err != nil {
			return err
		}
		counter.Opened()
		go func() {
			defer counter.Closed()
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
