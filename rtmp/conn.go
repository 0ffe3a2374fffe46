package rtmp

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// Options configures a Conn. The zero value has the defaults.
type Options struct {
	Limits Limits
	// ChunkSize is the chunk size in bytes that this side sets for what it
	// sends, 1 to MaxChunkSize; DefaultChunkSize when 0. Another panics.
	ChunkSize int
	// WindowAckSize is after how many bytes the peer is asked to acknowledge,
	// and the bandwidth that a server asks a client to grant. Default
	// 2,500,000, which is what common peers use.
	WindowAckSize uint32
	// Capabilities are what this side says of enhanced RTMP. A server says it
	// to clients that have said something themselves; the zero value says that
	// it passes on whatever comes. A client with the zero value says nothing.
	Capabilities Capabilities
	// PlainHandshake makes a client begin with the handshake of the
	// specification, without a digest.
	PlainHandshake bool
	// OnEvent is called by ReadMessage with the user control events that it
	// does not answer itself: everything but pings. value is the first number
	// of the event, the message stream in most.
	OnEvent func(e Event, value uint32)
}

const defaultWindow = 2_500_000

// Conn is one side of an RTMP connection over the caller's reader and writer: it
// neither dials nor closes, and sets no deadline.
//
// It begins with a handshake. A server goes on with ReadRequest, a client with
// Connect and then Publish or Play. After that ReadMessage returns media, data
// and commands, and deals with the rest.
//
// One goroutine reads, handshakes and requests. Others may call the methods that
// write at the same time: a mutex serializes them. A Flush sends whole messages only.
// ReadMessage answers too. When another goroutine writes meanwhile, a goroutine of the Conn
// sends its answers from then on, so that two ends that send each other more than their sockets
// hold go on reading; Recycle waits for it.
type Conn struct {
	options   Options
	handshake handshakeState

	mu  sync.Mutex // held while w and out are used
	w   *sluice.BufWriter
	out *ChunkWriter

	late  lateReplies
	asked uint32 // the acknowledgement window that this side has asked for

	// What each message needs lies together, from the end of unread to the beginning of
	// parts: a server with many publishers has to fetch it for each.

	unread heldMessage // returned by the next ReadMessage
	r      *sluice.BufReader
	owed   bool  // a reply waits to be flushed
	base   int64 // r's position after the handshake
	window int64 // the peer wants an acknowledgement after so many bytes; 0: none
	acked  int64 // received bytes at the last acknowledgement
	in     ChunkReader
	parts  aggregate // what is left of an aggregate message

	server  serverSession
	client  clientSession
	peer    Capabilities
	pending int // messages since a request was last complete
}

type heldMessage struct {
	m  Message
	ok bool
}

// handshakeState is how far a handshake has come, so that a call that lacked bytes can
// be repeated.
type handshakeState uint8

const (
	handshakeStart handshakeState = iota
	handshakeSent                 // a client's C0 and C1 are out
	handshakeLast                 // the peer's last packet is to come
	handshakeDone
)

// clientSession is what a client has asked for.
type clientSession struct {
	transaction float64
	streamID    uint32
	name        string
	kind        Kind
	waiting     step
	number      float64 // of the transaction that is waited for
}

// step is what a client waits for, so that a call that lacked bytes can be
// repeated.
type step uint8

const (
	stepIdle step = iota
	stepConnect
	stepCreate
	stepStart
)

// A reply is what this side says because of what it has read.
type reply struct {
	typ   MessageType
	event Event // of TypeUserControl
	value uint32
}

// lateReplies are those of a connection that is written to while it is read: the goroutine that reads
// does not send them itself. If it did, and both ends sent more than their sockets hold, each would wait
// for the other one to read.
type lateReplies struct {
	reading atomic.Bool // ReadMessage runs
	shared  atomic.Bool // something was written meanwhile, or was being written when it had to answer

	mu      sync.Mutex
	changed sync.Cond // of mu
	list    []reply
	sending bool // sendLate runs
}

// NewConn returns a connection that reads from r and writes to w. Memory that
// it needs beside theirs is from r's Allocator.
func NewConn(r *sluice.BufReader, w *sluice.BufWriter, o Options) *Conn {
	switch {
	case o.ChunkSize == 0:
		o.ChunkSize = DefaultChunkSize
	case o.ChunkSize < 1 || o.ChunkSize > MaxChunkSize:
		panic(fmt.Sprintf("rtmp: chunk size %d, want 1 to %d", o.ChunkSize, MaxChunkSize))
	}
	if o.WindowAckSize == 0 {
		o.WindowAckSize = defaultWindow
	}
	if r == nil || w == nil {
		panic("rtmp: NewConn without a reader or a writer")
	}
	c := &Conn{options: o, r: r, w: w, out: NewChunkWriter(w)}
	c.late.changed.L = &c.late.mu
	c.in.init(r, o.Limits)
	return c
}

func (c *Conn) made() {
	if c.r == nil {
		panic("rtmp: Conn that NewConn has not made")
	}
}

// lock begins the use of what mu protects.
func (c *Conn) lock() {
	c.made()
	if c.late.reading.Load() {
		c.late.shared.Store(true)
	}
	c.mu.Lock()
}

// ChunkSize returns the chunk size in bytes of what this side sends.
func (c *Conn) ChunkSize() int {
	c.lock()
	defer c.mu.Unlock()
	return c.out.ChunkSize()
}

// ReplaceWriter flushes what waits and makes the connection write to w from
// then on, without any timeout that was set on its BufWriter: for a relay in
// which another goroutine has taken over the connection's write side, and to
// which replies are handed. As long as the caller writes nothing large through
// the Conn, each Write that reaches w is whole messages: replies are short, and
// never more than a few KiB wait for a Flush.
func (c *Conn) ReplaceWriter(w io.Writer) error {
	c.lock()
	defer c.mu.Unlock()
	err := c.w.Flush()
	c.w.Reset(w)
	return err
}

// WriteMessage writes m, transferred, in chunks of the chunk size. Flush sends
// it.
func (c *Conn) WriteMessage(m Message) error {
	c.lock()
	defer c.mu.Unlock()
	return c.out.WriteMessage(m)
}

// Flush sends everything that was written.
func (c *Conn) Flush() error {
	c.lock()
	defer c.mu.Unlock()
	return c.w.Flush()
}

// alloc returns the allocator that memory of the connection is from.
func (c *Conn) alloc() *mem.Allocator { return c.in.alloc }
