package aio

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// OpType says which way an operation goes.
type OpType int

const (
	// OpRead is a read: Read, ReadTimeout, ReadFull, ReadContext, ReadBuf.
	OpRead OpType = iota
	// OpWrite is a write: Write, WriteTimeout, WriteContext, WriteBuf, WriteMemory.
	OpWrite
)

// String returns "read" or "write".
func (t OpType) String() string {
	if t == OpWrite {
		return "write"
	}
	return "read"
}

// OpResult is a completed operation.
type OpResult struct {
	// Operation is OpRead or OpWrite.
	Operation OpType
	// Context is what was given at submission.
	Context any
	// Conn is the connection as it was given at submission. It serves to name
	// the connection and for its addresses; reading, writing and closing go
	// through the watcher.
	Conn net.Conn
	// Buffer is the buffer that was submitted, whole and yours again, also when
	// the operation failed or was cancelled. After a read without a buffer it is
	// the watcher's own, borrowed until the next WaitIO, and as long as Size.
	// After ReadBuf it is a view of Buf. It is nil after WriteBuf and
	// WriteMemory: those were transferred.
	Buffer []byte
	// IsSwapBuffer says that Buffer is the watcher's own.
	IsSwapBuffer bool
	// Size is how many bytes were read or written, also when Error is set.
	Size int
	// Error is nil, or why the operation ended early: io.EOF, io.ErrClosedPipe,
	// ErrDeadline, the cause of a cancelled context, an error of the kernel.
	Error error
	// Buf is what ReadBuf read: retained, to be released by whoever takes the
	// result. It is the zero Buf after every other operation and when nothing
	// was read.
	Buf mem.Buf
}

// opKind says how an operation is carried out.
type opKind uint8

const (
	readSome     opKind = iota // into buf, until something has come
	readFull                   // into buf, until it is full
	readInternal               // into memory of the watcher, borrowed
	readBuf                    // into counted memory, retained
	writeBytes                 // from buf
	writeBuf                   // from a Buf, transferred
	writeMemory                // from a Memory, transferred
)

func (k opKind) isWrite() bool { return k >= writeBytes }

// request is an operation as it was submitted.
type request struct {
	kind     opKind
	ctx      any
	buf      []byte          // readSome, readFull, writeBytes
	size     int             // readBuf: at most so many bytes, 0 for the watcher's own choice
	single   mem.Buf         // writeBuf
	memory   *mem.Memory     // writeMemory
	deadline time.Time       // zero: none
	cancel   context.Context // nil: none
	quiet    bool            // a write that completes only when it fails
}

// ended is the completion of a request that was not carried out. Programs written
// for gaio compare errors with ==, so what is wrapped for the returned error is not
// wrapped here.
func (r *request) ended(conn net.Conn, err error) OpResult {
	for _, plain := range []error{ErrUnsupported, ErrQueueFull} {
		if errors.Is(err, plain) {
			err = plain
		}
	}
	res := OpResult{Context: r.ctx, Conn: conn, Buffer: r.buf, Error: err}
	if r.kind.isWrite() {
		res.Operation = OpWrite
	}
	return res
}

// refuse gives back what the request was transferred, since it is not carried out.
func (r *request) refuse() {
	switch r.kind {
	case writeBuf:
		r.single.Release()
	case writeMemory:
		r.memory.Release()
	}
}
