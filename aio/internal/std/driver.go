package std

import (
	"net"
	"sync"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// Driver is the state of one watcher: its connections, each with two directions, each
// with a queue of operations.
//
// Locks: direction.setting before mu. No method of a connection and no function
// of the program (mem.Wrap's among them) is called with mu held.
type Driver struct {
	settings op.Settings
	waiting  sync.Mutex // of the goroutine in Wait

	mu       sync.Mutex // guards what follows, and what has no other guard below
	more     sync.Cond  // on mu: Wait may go on
	table    table
	done     op.Completions
	leases   leases
	life     life
	counters op.Counters
}

// life is the state of closing the watcher.
type life struct {
	state      state
	goroutines int           // that hold an operation or close a connection
	writes     int           // that are not complete
	cut        bool          // closing the watcher has ended a write
	drained    chan struct{} // closed when Shutdown finds no writes; nil without one
	gone       chan struct{} // closed when goroutines is 0 in closing
	ended      chan struct{} // closed with closed
}

type state int

const (
	open     state = iota
	draining       // no more submissions and reads; the writes go on
	closing        // everything is being ended
	closed         // what was pending is in done
)

// table is the connections.
type table struct {
	conns   map[net.Conn]*conn
	known   *knownConns
	settled []*conn // had nothing pending when last seen
	batch   uint64  // the number of the batch that is being filled
	over    uint64  // batches below this one were handed out, and their time is over
}

// conn is a connection that has something pending, or had until just now.
type conn struct {
	driver *Driver
	conn   net.Conn
	reads  direction
	writes direction
	ending error  // why it was closed: what is pending ends with it
	last   uint64 // the batch of its last completion
	listed bool   // in table.settled
}

func (c *conn) idle() bool { return !c.reads.running && !c.writes.running }

// direction is one direction of a connection: a queue, and the goroutine that carries
// out what is in it.
type direction struct {
	conn  *conn
	sends bool // writes; set once

	queue
	queued      int // bytes of pending writes that are not written
	held        int // memory of pending writes, as QueueLimit counts it
	running     bool
	shut        bool         // an EndWrites was carried out: what follows fails
	flight      []*operation // what is being carried out: one read, or the writes of one gather
	interrupted bool         // the call was, for an operation that is to end
	alone       bool         // one write at a time: a gather took too long
	alarm

	// What belongs to the goroutine.
	traits
	room     int    // what the next read into memory of the watcher takes
	wait     []byte // what it waits in, see roomFor
	kept     []byte // of wait: what has come and no read has got; for settle when no goroutine runs
	gather   *gather
	finished []*operation // scratch of account
}

// traits are what a goroutine needs to know of its connection.
type traits struct {
	looked   bool // look has been called
	messages bool // each Read is a datagram
	stream   bool // a plain socket of bytes: it gathers, and takes any deadline without harm
	joins    bool // several writes may go out in one call
	most     int  // bytes that one read into memory of the watcher takes at most
}

// alarm is the connection's deadline in one direction.
type alarm struct {
	// setting is held while the deadline is set, so that an interruption hits the call
	// that it is meant for, and not the next one.
	setting sync.Mutex
	set     time.Time // guarded by setting
	wasSet  bool      // before, it is whatever the program has left behind
}

// gather is scratch: net.Buffers.WriteTo moves the slice along that it is given,
// and writes nil into what it has passed.
type gather struct {
	room net.Buffers
	left net.Buffers
}

// queue is a list of operations.
type queue struct{ head, tail *operation }

// operation goes from its submission to its completion. It is not used again
// afterwards, so a timer that comes late finds one that has ended.
type operation struct {
	op.Request
	dir        *direction
	prev, next *operation // in the queue

	phase   phase
	err     error       // why it is to end early, set from outside
	timer   *time.Timer // its deadline, while it is queued
	unwatch func() bool // stops the context from being watched

	out   []byte   // WriteBytes: what is written, Buf or a copy of it
	n     int      // bytes read or written
	total int      // bytes to be written
	held  int      // memory of what was transferred, as QueueLimit counts it
	calls int      // of conn.Read, not yet counted
	slab  mem.Slab // what ReadLeased has read
	block mem.Buf  // what ReadCounted has read
}

type phase int

const (
	submitted phase = iota
	queued          // in the direction's queue
	inFlight        // being carried out: the goroutine of the direction has the buffer
	ended
)
