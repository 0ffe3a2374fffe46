// Package intake reads the connections of many publishers with a few event loops.
//
// A goroutine that waits for each publisher costs more than what it reads: it is parked
// and woken for every frame, and its second read finds nothing. Here a publisher costs
// one system call for what has come, and a share of one that says who has sent. A
// connection is read by its own goroutine before and after: see Conn.Serve.
//
// Loops exist where there is epoll. Elsewhere Loops.Take returns nil, and connections
// are read by goroutines.
package intake

import "errors"

// A Handler is what a loop calls for a connection. Its methods are called by one
// goroutine at a time, and must not wait: all connections of the loop would.
type Handler interface {
	// Ready is called when something has come. One Read of the connection gets it; reads
	// after that fail with ErrDry until the next Ready.
	Ready() Verdict
	// Late is called when the read deadline has passed, about lateBy after it at most.
	Late() Verdict
}

// A Verdict says how a loop goes on with a connection.
type Verdict uint8

const (
	Wait  Verdict = iota // for more to come
	Again                // there is more to do: after all others that are ready
	Over                 // the connection is its goroutine's again
)

// ErrDry is the error of a read in a loop when there may be more later. It is returned as
// it is, by the sluice.BufReader over the connection too.
var ErrDry = errors.New("intake: nothing to read at the moment")

// ErrFull is the error of a write in a loop when the peer takes nothing.
var ErrFull = errors.New("intake: the peer does not take what is sent to it")
