package op

import (
	"net"

	"github.com/sluice-go/sluice/mem"
)

// Type says which way an operation goes.
type Type int

// The two types.
const (
	Read Type = iota
	Write
)

// String returns "read" or "write".
func (t Type) String() string {
	if t == Write {
		return "write"
	}
	return "read"
}

// Result is a completed operation. Its fields are described where the program finds
// it, at aio.OpResult.
type Result struct {
	Operation    Type
	Context      any
	Conn         net.Conn
	Buffer       []byte
	IsSwapBuffer bool
	Size         int
	Error        error
	Buf          mem.Buf
}
