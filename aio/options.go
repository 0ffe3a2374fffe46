package aio

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// Driver names what carries operations out.
type Driver int

const (
	// Auto chooses: Epoll on Linux, Kqueue on macOS and the BSDs, Std elsewhere
	// and where the kernel refuses the first choice.
	Auto Driver = iota
	// Epoll waits for readiness with epoll(7), edge-triggered. Linux only.
	Epoll
	// Kqueue waits for readiness with kqueue(2). macOS and the BSDs only;
	// experimental.
	Kqueue
	// Std runs goroutines over net.Conn's own methods. It is there on every
	// system and takes every net.Conn: TLS, net.Pipe, wrappers that count or
	// limit. It costs goroutines and a buffer for each pending read. A write is in the
	// queue until a goroutine has made it, so that QueueLimit and SlowPolicy can take a
	// burst for a slow peer.
	Std
)

// String returns the driver's name in lower case.
func (d Driver) String() string {
	switch d {
	case Auto:
		return "auto"
	case Epoll:
		return "epoll"
	case Kqueue:
		return "kqueue"
	case Std:
		return "std"
	}
	return fmt.Sprintf("Driver(%d)", int(d))
}

// QueuePolicy says what happens to a write that does not fit into its
// connection's queue.
type QueuePolicy int

const (
	// QueueRefuse refuses the write: its submission returns ErrQueueFull and
	// changes nothing.
	QueueRefuse QueuePolicy = iota
	// QueueClose frees the connection: the submission returns ErrQueueFull, and
	// what was pending on the connection completes with ErrQueueFull.
	QueueClose
)

// DefaultBufferSize is used when BufferSize is 0, in bytes.
const DefaultBufferSize = 64 << 10

// DefaultGrace is used when Server.Grace is 0, and when a ConnHandler without a
// WriteTimeout closes a connection.
const DefaultGrace = 5 * time.Second

// Options are the settings of a watcher. The zero value is ready to use.
type Options struct {
	// Driver is what carries operations out; Auto unless set.
	Driver Driver
	// BufferSize is the most that one read without a buffer returns, in bytes;
	// DefaultBufferSize unless set. Memory for such reads is taken when bytes have
	// come, in pieces of this size, and goes back at the next WaitIO.
	BufferSize int
	// Allocator is where memory for reads without a buffer and for ReadBuf comes
	// from, and for copies of what waits to be written; mem.Default() unless set. Its
	// budget bounds what ReadBuf reads. The rest counts in it and may go beyond it: reads
	// without a buffer by what one WaitIO returns, copies by QueueLimit or one write for
	// each connection.
	Allocator *mem.Allocator
	// QueueLimit bounds the memory that one connection's write queue holds, in
	// bytes; 0 is no bound. An empty queue takes one write of any size. A buffer
	// of the program counts as the bytes that are still to be written. What was
	// transferred counts as the blocks that its bytes need, 256 B at least, until
	// it is written; it is copied when it keeps more than eight times that.
	//
	// What the kernel has taken does not count, and is no memory of an Allocator: for a peer
	// that reads nothing up to 4 MB on Linux (tcp_wmem), which count for the control group
	// in version 2. SO_SNDBUF bounds it: set it on the listener, whose connections have it then,
	// as examples/push-server does, or on one by SyscallConn.
	QueueLimit int
	// ErrorsComplete says that what is wrong with one connection (it is closed, it
	// is of a kind that the driver cannot take, its queue is full, descriptors have
	// run out) completes the operation that was submitted on it. Then the error that
	// a submission returns is ErrWatcherClosed, or a mistake in the call itself: no
	// connection, an empty buffer. Unless set the submission returns all errors, and
	// what it has refused has no completion. NewWatcher, NewWatcherSize and the
	// default watcher have it set, as gaio does it; watchers that serve a ConnHandler do not.
	ErrorsComplete bool
	// QuietWrites makes writes complete only when they fail, for servers that need no
	// completion for each answer. Then the buffer of a Write is the program's again as
	// soon as Write returns: bytes that have to wait are copied into counted memory
	// first. The completion of a failed write has no Buffer. Stats counts quiet writes
	// like others.
	QuietWrites bool
	// QueuePolicy is what happens to a write beyond QueueLimit.
	QueuePolicy QueuePolicy
}

// withDefaults fills in what was not set. It panics on settings that make no sense.
func (o Options) withDefaults() Options {
	if o.BufferSize < 0 || o.QueueLimit < 0 {
		panic(fmt.Sprintf("aio: Options with BufferSize %d and QueueLimit %d: neither can be negative", o.BufferSize, o.QueueLimit))
	}
	if o.QueuePolicy < QueueRefuse || o.QueuePolicy > QueueClose {
		panic(fmt.Sprintf("aio: Options with QueuePolicy %d: it is QueueRefuse or QueueClose", int(o.QueuePolicy)))
	}
	if o.BufferSize == 0 {
		o.BufferSize = DefaultBufferSize
	}
	if o.Allocator == nil {
		o.Allocator = mem.Default()
	}
	return o
}
