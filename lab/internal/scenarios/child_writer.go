package scenarios

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/child"
)

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

var _ = registerChild("tcp-writer", tcpWriter)

// tcpWriter is the child that writes a stream to an address, as fast as it
// can, on so many connections, until the reader closes them.
func tcpWriter(args []string) error {
	if err := childArgs("tcp-writer", args, "ADDRESS", "KIND", "CONNECTIONS"); err != nil {
		return err
	}
	var count int
	if err := scan(args[2:], &count); err != nil {
		return err
	}
	if count < 1 {
		return fmt.Errorf("scenarios: %d connections", count)
	}
	s, err := beginChild(args[1])
	if err != nil {
		return err
	}
	errs := make(chan error, count)
	for range count {
		conn, err := dialParent(args[0])
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetWriteBuffer(buffer(sendBuffer, count)); err != nil {
			return err
		}
		go func() { errs <- unlessHungUp(writeAll(conn, s)) }()
	}
	for range count {
		err = errors.Join(err, <-errs)
	}
	return err
}

// writeAll writes s until that fails.
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

func unlessHungUp(err error) error {
	if hungUp(err) {
		return nil
	}
	return err
}

// String names a stream of frames to a child: frames,SEED,LO,HI.
func (k frameKind) String() string {
	return fmt.Sprintf("frames,%d,%d,%d", k.seed, k.lo, k.hi)
}

// streamOf returns the stream of a name.
func streamOf(name string) (*stream, error) {
	var k frameKind
	if n, err := fmt.Sscanf(name, "frames,%d,%d,%d", &k.seed, &k.lo, &k.hi); err != nil || n != 3 || k.lo < 1 || k.hi < k.lo || k.hi > ringSize {
		return nil, fmt.Errorf("scenarios: %s is no stream", strconv.Quote(name))
	}
	return k.frames(), nil
}

// A remote is connections on which a child writes a stream.
type remote struct {
	conns []*net.TCPConn
	child *child.Process
}

// dialRemote starts a child that writes a stream on so many
// connections, and returns when they are there.
func dialRemote(self string, kind frameKind, connections int) (*remote, error) {
	l, err := listenLocal()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	c, err := startChild(self, "tcp-writer", l.Addr().String(), kind.String(), strconv.Itoa(connections))
	if err != nil {
		return nil, err
	}
	r := &remote{child: c}
	for range connections {
		conn, err := acceptFrom(l, c)
		if err != nil {
			return nil, errors.Join(err, r.hangUp())
		}
		r.conns = append(r.conns, conn)
		if err := conn.SetReadBuffer(buffer(receiveBuffer, connections)); err != nil {
			return nil, errors.Join(err, r.hangUp())
		}
	}
	return r, nil
}

// hangUp closes the connections and ends the child.
func (r *remote) hangUp() error {
	var errs []error
	for _, conn := range r.conns {
		errs = append(errs, conn.Close())
	}
	r.child.Stop()
	return errors.Join(errs...)
}
