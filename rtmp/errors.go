package rtmp

import (
	"errors"
	"fmt"
	"io"
)

// Errors that callers match with errors.Is. They come wrapped, with where it
// happened and the numbers. What the reader and the writer below say (io.EOF
// between messages, io.ErrUnexpectedEOF inside one, deadlines,
// sluice.ErrShort, mem.ErrBudget) passes through.
var (
	// ErrHandshake: the peer's handshake is not one of RTMP version 3.
	ErrHandshake = errors.New("rtmp: handshake")
	// ErrProtocol: the peer sent what the protocol does not allow.
	ErrProtocol = errors.New("rtmp: protocol violation")
	// ErrTooLong: a message is longer than Limits allow, or the unfinished
	// ones together are.
	ErrTooLong = errors.New("rtmp: too long")
	// ErrTooMany: more chunk streams, commands or messages than Limits allow.
	ErrTooMany = errors.New("rtmp: too many")
	// ErrURL: an address is not one of a stream.
	ErrURL = errors.New("rtmp: bad address")
)

// LengthError is the ErrTooLong of one message whose header announces more than Limits allow for
// its type.
type LengthError struct {
	ChunkStream   uint32
	Type          MessageType
	Length, Limit int // in bytes
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("%v: chunk stream %d: %v of %d bytes, at most %d", ErrTooLong, e.ChunkStream, e.Type, e.Length, e.Limit)
}

// Unwrap returns ErrTooLong.
func (e *LengthError) Unwrap() error { return ErrTooLong }

// StatusError is a peer's refusal: what its onStatus or _error said.
type StatusError struct {
	Level       string // "error"; a server may say "warning"
	Code        string // "NetStream.Play.StreamNotFound"
	Description string // for people
}

func (e *StatusError) Error() string {
	if e.Description == "" {
		return "rtmp: refused: " + e.Code
	}
	return fmt.Sprintf("rtmp: refused: %s (%s)", e.Code, e.Description)
}

// inside replaces io.EOF by io.ErrUnexpectedEOF: the stream ended inside an item.
func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
