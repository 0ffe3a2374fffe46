package echobench

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/lab/internal/rawio"
	"github.com/sluice-go/sluice/mem"
)

// Many writes one frame to many connections, and then reads it from each of them. It is
// for one goroutine.
type Many struct {
	near, far []net.Conn
	out       message
	in        []byte
	number    int // of the next frame
	write     func(m *Many) error
	w         *aio.Watcher
	fds       []int
}

// NewMany opens connections for frames of that size, which are written by aio's
// WriteMany, or bare: by one send for each connection.
func NewMany(way string, conns, size int, seed uint64) (m *Many, err error) {
	out, err := newMessage(size, seed)
	if err != nil {
		return nil, err
	}
	m = &Many{out: out, in: make([]byte, size)}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	l, err := Listen(size)
	if err != nil {
		return m, err
	}
	defer l.Close()
	for range conns {
		c, err := net.DialTimeout("tcp4", l.Addr().String(), defaultPatience)
		if err != nil {
			return m, err
		}
		m.far = append(m.far, c)
		s, err := l.Accept()
		if err != nil {
			return m, err
		}
		m.near = append(m.near, s)
		if err := c.SetDeadline(time.Now().Add(time.Hour)); err != nil {
			return m, err
		}
	}
	switch way {
	case "aio":
		m.write = (*Many).aio
		m.w, err = aio.NewWatcherOptions(aio.Options{})
	case "bare":
		m.write = (*Many).bare
		err = m.descriptors()
	default:
		err = fmt.Errorf("echo: there is no way %s to write to many", strconv.Quote(way))
	}
	return m, err
}

// descriptors takes those of near, which stay theirs.
func (m *Many) descriptors() error {
	for _, c := range m.near {
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { m.fds = append(m.fds, int(fd)) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Write writes the next frame to all, and reads it. It returns what the writing took.
func (m *Many) Write() (wall, cpu time.Duration, err error) {
	m.out.stamp(m.number)
	before, began := ownCPU(), time.Now()
	err = m.write(m)
	wall, cpu = time.Since(began), ownCPU()-before
	for i := range m.far {
		if err != nil {
			break
		}
		if _, err = io.ReadFull(m.far[i], m.in); err == nil && !m.out.matches(m.number, 0, m.in) {
			err = fmt.Errorf("echo: connection %d has got another frame than number %d", i, m.number)
		}
	}
	m.number++
	return wall, cpu, err
}

// aio writes a frame that is copied into counted memory first.
func (m *Many) aio() error {
	b := mem.Default().Get(len(m.out))
	copy(b.Bytes(), m.out)
	spread, err := m.w.WriteMany(nil, m.near, b, aio.SlowSkip)
	if err == nil && spread.Written != len(m.near) {
		err = fmt.Errorf("echo: the sockets do not take a frame each: %+v", spread)
	}
	return err
}

func (m *Many) bare() error {
	for _, fd := range m.fds {
		n, errno := rawio.Send(fd, m.out)
		if errno != 0 {
			return fmt.Errorf("echo: sending a frame: %w", errno)
		}
		if n != len(m.out) {
			return errors.New("echo: a socket does not take a frame")
		}
	}
	return nil
}

// Close closes the connections.
func (m *Many) Close() {
	if m.w != nil {
		m.w.Close()
	}
	for _, c := range append(m.near, m.far...) {
		c.Close()
	}
}
