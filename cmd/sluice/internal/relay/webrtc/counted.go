package webrtc

import (
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/pion/stun/v4"
)

// errStranger: what a connection begins with is no check for a session.
var errStranger = errors.New("webrtc: the connection is for no session")

// maxFirst is the longest check that a connection may begin with, as in the library.
const maxFirst = 512

// counted is a TCP connection that is counted until it is closed. It has to begin with a
// check for a session that there is: for others the library would keep half a megabyte.
type counted struct {
	net.Conn
	leave func()
	known func(ufrag string) bool
	first []byte // what has come of the first packet
	begun bool   // it was for a session
	out   *buffer
	sends sync.Once
}

func (c *counted) Close() error {
	c.leave()
	c.out.Close()
	return c.Conn.Close()
}

// Write takes a whole packet, borrowed until it returns, and does not wait for the client: it is
// lost, as on the way, when too much does.
func (c *counted) Write(p []byte) (int, error) {
	c.sends.Do(func() { go c.send() })
	return c.out.Write(p)
}

// send writes what waits, until Close.
func (c *counted) send() {
	p := make([]byte, readSize)
	for {
		n, err := c.out.Read(p)
		if err != nil {
			return
		}
		// The reading side sees an error too, and closes.
		_, _ = c.Conn.Write(p[:n])
	}
}

// Read is called by one goroutine at a time.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.begun || n == 0 {
		return n, err
	}
	c.first = append(c.first, p[:n]...)
	const head = 2 // of a packet: its length (RFC 4571)
	if len(c.first) < head {
		return n, err
	}
	size := int(binary.BigEndian.Uint16(c.first))
	if size > maxFirst {
		return 0, errStranger
	}
	if len(c.first) < head+size {
		return n, err
	}
	if !c.known(ufragOf(c.first[head : head+size])) {
		return 0, errStranger
	}
	c.first, c.begun = nil, true
	return n, err
}

// ufragOf returns the part of a check's user name that names the session (RFC 8445, section
// 7.2.2); empty when p, borrowed, is no check.
func ufragOf(p []byte) string {
	m := &stun.Message{Raw: p}
	if m.Decode() != nil {
		return ""
	}
	var name stun.Username
	if name.GetFrom(m) != nil {
		return ""
	}
	ufrag, _, _ := strings.Cut(name.String(), ":")
	return ufrag
}
