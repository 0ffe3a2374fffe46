package consensus

import (
	"net"
	"time"

	"github.com/hashicorp/raft"
)

type layer struct {
	net.Listener
	ended <-chan struct{} // closed when nothing more is to be sent
}

// Dial is raft's. What it writes has the timeout piece by piece.
func (l layer) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", string(addr), timeout)
	if err != nil {
		return nil, err
	}
	if err := conn.(*net.TCPConn).SetWriteBuffer(sendBuffer); err != nil {
		conn.Close()
		return nil, err
	}
	return &peerConn{conn, timeout, l.ended}, nil
}

const (
	// A peer must take a piece of a message within the timeout, and the last sendBuffer
	// bytes of it, which the system holds, before it answers.
	pieceBytes = 64 << 10
	sendBuffer = 256 << 10
)

// A peerConn gives each piece of a message the time that raft has for the whole, and then
// the answer. A message is 16 entries however long they are: a node that was away would
// never get the first one over a slow line, and raft would send it again for ever.
type peerConn struct {
	net.Conn
	timeout time.Duration
	ended   <-chan struct{}
}

func (c *peerConn) Write(p []byte) (n int, err error) {
	for err == nil && n < len(p) {
		select {
		case <-c.ended:
			return n, net.ErrClosed
		default:
		}
		if err = c.SetDeadline(time.Now().Add(c.timeout)); err != nil {
			break
		}
		var m int
		m, err = c.Conn.Write(p[n:min(n+pieceBytes, len(p))])
		n += m
	}
	return n, err
}
