package op

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// Kind says how an operation is carried out.
type Kind uint8

// The kinds: reads first, then writes.
const (
	ReadSome    Kind = iota // into Buf, until something has come
	ReadFull                // into Buf, until it is full
	ReadLeased              // into memory of the watcher, borrowed
	ReadCounted             // into counted memory, retained
	Accept                  // a connection that has come to a listening socket
	WriteBytes              // from Buf
	WriteBuf                // from a mem.Buf, transferred
	WriteMemory             // from a mem.Memory, transferred
	Flush                   // nothing: it completes when the writes before it have
	EndWrites               // nothing: the sending side ends after the writes before it
)

// IsWrite says that k is one of the writes.
func (k Kind) IsWrite() bool { return k >= WriteBytes }

// IsMark says that k is one of the writes that have no bytes.
func (k Kind) IsMark() bool { return k >= Flush }

// Type returns which way an operation of this kind goes.
func (k Kind) Type() Type {
	if k.IsWrite() {
		return Write
	}
	return Read
}

// Request is an operation as it was submitted.
type Request struct {
	Kind     Kind
	Ctx      any
	Buf      []byte          // ReadSome, ReadFull, WriteBytes
	Size     int             // ReadCounted: at most so many bytes, 0 for the watcher's own choice
	Room     mem.Slab        // ReadCounted of Size 0: memory for it, transferred; the zero Slab: the watcher's
	Single   mem.Buf         // WriteBuf
	Memory   *mem.Memory     // WriteMemory
	Deadline time.Time       // zero: none
	Cancel   context.Context // nil: none
	Quiet    bool            // a write that completes only when it fails
	Lent     bool            // Buf is borrowed until Submit returns: what has to wait is copied
	Beyond   bool            // QueueLimit does not refuse this write: it goes on with one that an empty queue has taken, or ends the stream
}

// Ended is the completion of a request that was not carried out. Programs written
// for gaio compare errors with ==, so what is wrapped for the returned error is not
// wrapped here.
func (r *Request) Ended(conn net.Conn, err error) Result {
	for _, plain := range []error{ErrUnsupported, ErrQueueFull} {
		if errors.Is(err, plain) {
			err = plain
		}
	}
	return Result{Operation: r.Kind.Type(), Context: r.Ctx, Conn: conn, Buffer: r.Returned(), Error: err}
}

// Returned is the buffer that the completion gives back.
func (r *Request) Returned() []byte {
	if r.Lent {
		return nil
	}
	return r.Buf
}

// Release gives back what the request was transferred, when it is not carried out
// or has ended.
func (r *Request) Release() {
	switch r.Kind {
	case WriteBuf:
		r.Single.Release()
	case WriteMemory:
		r.Memory.Release()
	case ReadLeased, ReadCounted:
		if r.Room.Valid() {
			r.Room.Release()
		}
	}
}

// InMessages says that what is read of a connection of this network comes in messages:
// what of one has no room is thrown away.
func InMessages(network string) bool {
	switch network {
	case "udp", "udp4", "udp6", "unixgram", "unixpacket", "ip", "ip4", "ip6":
		return true
	}
	return false
}

// Length is the number of bytes to write.
func (r *Request) Length() int {
	switch r.Kind {
	case WriteBuf:
		return r.Single.Len()
	case WriteMemory:
		return r.Memory.Size
	}
	return len(r.Buf)
}
