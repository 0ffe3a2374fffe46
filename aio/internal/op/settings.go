package op

import "github.com/sluice-go/sluice/mem"

// Settings are what a driver has to know of aio.Options. All are set.
type Settings struct {
	BufferSize     int // the most that one read without a buffer returns, in bytes
	Allocator      *mem.Allocator
	QueueLimit     int  // memory that one connection's write queue may hold, in bytes; 0: no bound
	CloseWhenFull  bool // a write beyond QueueLimit frees the connection, and else is refused
	ErrorsComplete bool // what is wrong with one connection completes the operation
}
