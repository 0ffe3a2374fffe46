package scenarios

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/lab"
)

var _ = register(90, tcpGroup)

// tcpGroup reads real loopback connections on which another process writes.
// What is compared is the processor time of the reading process: time by the
// clock would say how fast the writer is.
func tcpGroup() []lab.Scenario {
	sizes := []struct {
		name, label string
		bytes       int
		ops         int
	}{
		{"128B", "128 B", 128, 500_000},
		{"1KB", "1 KB", 1 << 10, 100_000},
		{"16KB", "16 KB", 16 << 10, 8_000},
	}
	var group []lab.Scenario
	for _, size := range sizes {
		sc := lab.Scenario{
			Name:     "tcp/" + size.name,
			Title:    "frames of " + size.label + " over loopback TCP from another process, the reader's processor time",
			Op:       "frame",
			Metric:   lab.CPUPerOp,
			Baseline: "peek",
			Ops:      size.ops,
		}
		names := []string{"naive", "peek", "bufiox", "next", "range"}
		if size.bytes == 128 {
			names = append(names, "readbuf")
			sc.Targets = []lab.Target{
				{Variant: "next", Against: "peek", AtMost: 0.82},
				{Variant: "readbuf", Against: "peek", AtMost: 0.85},
			}
		} else {
			sc.Targets = []lab.Target{{Variant: "next", Against: "peek", AtMost: 1.10}}
		}
		ways := pick(allFrames, names...)
		if size.bytes == 128 {
			ways = slices.Concat(floorWays, ways)
		}
		bare := way{"conn-read", "conn.Read of 64 KiB and nothing else: the floor", newFloor}
		sc.Variants = walks(append([]way{bare}, ways...), func(env lab.Env) (io.Reader, *stream, func() error, error) {
			kind := frameKind{env.Seed, size.bytes, size.bytes}
			r, err := dialRemote(env.Self, kind, 1)
			if err != nil {
				return nil, nil, nil, err
			}
			return r.conns[0], kind.frames(), r.hangUp, nil
		})
		group = append(group, sc)
	}
	return group
}

// writeSize is how much the writer hands to the kernel at once: enough that
// it is never what the reader waits for.
const writeSize = 256 << 10

// The socket's buffers are set, to what a busy server ends up with: left to
// themselves they grow to tens of MB over loopback, to another size on each
// connection, and how much is queued decides whether a read finds its bytes in a
// cache.
const (
	sendBuffer    = 256 << 10
	receiveBuffer = 1 << 20
)

// tcpWork is what a child of a TCP scenario has to do: to write or read a stream on connections
// to an address.
type tcpWork struct {
	Addr  string
	Kind  frameKind
	Conns int
}

func (w tcpWork) begin() (*stream, error) {
	if w.Conns < 1 || w.Kind.Lo < 1 || w.Kind.Hi < w.Kind.Lo || w.Kind.Hi > ringSize {
		return nil, fmt.Errorf("scenarios: %+v is no work for a child", w)
	}
	child.Begin(childLife)
	runtime.GOMAXPROCS(1)
	return w.Kind.frames(), nil
}

func (w tcpWork) dial() (*net.TCPConn, error) {
	conn, err := net.DialTimeout("tcp", w.Addr, child.Within)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// tcpWriter writes a stream, as fast as it can, until the reader closes the connections.
var tcpWriter = registerChild("tcp-writer", func(w tcpWork) error {
	s, err := w.begin()
	if err != nil {
		return err
	}
	errs := make(chan error, w.Conns)
	for range w.Conns {
		conn, err := w.dial()
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetWriteBuffer(buffer(sendBuffer, w.Conns)); err != nil {
			return err
		}
		go func() { errs <- unlessHungUp(writeAll(conn, s)) }()
	}
	for range w.Conns {
		err = errors.Join(err, <-errs)
	}
	return err
})

func writeAll(conn net.Conn, s *stream) error {
	for {
		for rest := s.ring; len(rest) > 0; {
			n := min(writeSize, len(rest))
			if _, err := conn.Write(rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
}

// buffer is what each of many connections has as a socket's buffer: whole ones
// would hold a round's frames before it begins, and with less the reader waits
// for every few frames.
func buffer(alone, connections int) int { return max(alone/connections, 128<<10) }

// unlessHungUp is err, but nil for what a connection gives whose other end has closed: how a
// child's work usually ends.
func unlessHungUp(err error) error {
	if op := (*net.OpError)(nil); errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &op) && !op.Timeout() {
		return nil
	}
	return err
}

type remote struct {
	conns []*net.TCPConn
	child *child.Process
}

func dialRemote(self string, kind frameKind, connections int) (*remote, error) {
	l, err := listenLocal()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	c, err := tcpWriter.start(self, tcpWork{l.Addr().String(), kind, connections})
	if err != nil {
		return nil, err
	}
	r := &remote{child: c}
	for range connections {
		conn, err := acceptFrom(l, c)
		if err == nil {
			r.conns = append(r.conns, conn)
			err = conn.SetReadBuffer(buffer(receiveBuffer, connections))
		}
		if err != nil {
			return nil, errors.Join(err, r.hangUp())
		}
	}
	return r, nil
}

func (r *remote) hangUp() error {
	var errs []error
	for _, conn := range r.conns {
		errs = append(errs, conn.Close())
	}
	r.child.Stop()
	return errors.Join(errs...)
}

// tcpReader reads a stream. Before each part of it comes a frame count, eight bytes
// big-endian; behind it, the child answers with the sum of the marks of what it got, in eight
// bytes too.
var tcpReader = registerChild("tcp-reader", func(w tcpWork) error {
	s, err := w.begin()
	if err != nil {
		return err
	}
	conn, err := w.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadBuffer(receiveBuffer); err != nil {
		return err
	}
	var word [8]byte
	buf := make([]byte, 256<<10)
	for at := 0; ; {
		if _, err := io.ReadFull(conn, word[:]); err != nil {
			return unlessHungUp(err)
		}
		n := int(binary.BigEndian.Uint64(word[:]))
		if err := expect(conn, s, at, n, buf); err != nil {
			return err
		}
		binary.BigEndian.PutUint64(word[:], over(s.marks, at, n))
		if _, err := conn.Write(word[:]); err != nil {
			return unlessHungUp(err)
		}
		at = (at + n) % s.units()
	}
})

func expect(src io.Reader, s *stream, unit, n int, buf []byte) error {
	at := s.ends[unit]
	for left := s.size(unit, n); left > 0; {
		rest := s.ring[at:]
		k, err := src.Read(buf[:min(int64(len(buf)), int64(len(rest)), left)])
		if err != nil {
			return err
		}
		if !bytes.Equal(buf[:k], rest[:k]) {
			return fmt.Errorf("%w: in the %d bytes from %d", errDiffers, k, at)
		}
		left -= int64(k)
		at = (at + int64(k)) % int64(len(s.ring))
	}
	return nil
}
