package consensus

import (
	"fmt"
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

// hungAfter is for how many heartbeats' time the disk of a leader may have an entry: then the
// leader stops to say that it leads, so that the others elect one whose disk works. Raft itself
// goes on saying so, for as long as the disk hangs, while nothing is acknowledged. Disks that are
// only slow take seconds, and a follower waits for one heartbeat more.
const hungAfter = 5

// hung is the error of a disk that hangs, nil while it does not. When it works again the node goes
// on, as a follower.
func (n *node) hung() error {
	if stuck := n.entries.stuck(); stuck > hungAfter*n.heartbeat {
		return fmt.Errorf("the disk of node %s has not stored an entry for %v", n.id, stuck.Round(time.Second/10))
	}
	return nil
}

type voice struct {
	*raft.NetworkTransport
	hung func() error
}

// AppendEntries is raft's, for entries and for heartbeats.
func (v voice) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if err := v.hung(); err != nil {
		return err
	}
	return v.NetworkTransport.AppendEntries(id, target, args, resp)
}
