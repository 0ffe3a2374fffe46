package netsim

import (
	"fmt"
	"net"
)

// Pipe returns two connected ends in memory, each with its own options. They
// use channels and package time only, so that they work in a bubble of
// testing/synctest. Below is net.Pipe: a Write waits until it is read, or, if
// the other end delays what comes in, until its Window has room. So with Sizes,
// which cut a Write, an end that answers before it has read all of it, and one that
// reads no answer before it has written all, wait for each other: Latency at both
// ends gives them room. Pipe panics on options out of range.
func Pipe(a, b Options) (*Conn, *Conn) {
	innerA, innerB := net.Pipe()
	return newPair(innerA, innerB, a, b)
}

func newPair(innerA, innerB net.Conn, a, b Options) (*Conn, *Conn) {
	a.check()
	b.check()
	endA, endB := NewConn(innerA, a), NewConn(innerB, b)
	endA.peer, endB.peer = endB, endA
	return endA, endB
}

// TCPPipe returns two connected ends over loopback TCP, each with its own
// options. Its errors are those of listening, dialing and accepting. It panics
// on options out of range.
func TCPPipe(a, b Options) (*Conn, *Conn, error) {
	a.check()
	b.check()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("netsim: TCPPipe: %w", err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, nil, fmt.Errorf("netsim: TCPPipe: %w", err)
	}
	for {
		accepted, err := l.Accept()
		if err != nil {
			dialed.Close()
			return nil, nil, fmt.Errorf("netsim: TCPPipe: %w", err)
		}
		// Another process on this machine may have found the port.
		if accepted.RemoteAddr().String() == dialed.LocalAddr().String() {
			endA, endB := newPair(dialed, accepted, a, b)
			return endA, endB, nil
		}
		accepted.Close()
	}
}
