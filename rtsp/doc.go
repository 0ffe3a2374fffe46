// Package rtsp reads and writes what goes over an RTSP connection: requests,
// responses, and the binary frames that are interleaved with them. It is RTSP
// 1.0 (RFC 2326) as programs speak it, with the wire format of 2.0 (RFC 7826)
// where that differs. It opens no connection and keeps no session: a Reader
// stands on a sluice.BufReader, and the Write functions on a sluice.BufWriter,
// so that all of it runs on a file, a test's bytes or an event loop as well.
//
// Bodies, session descriptions for the most part, stay bytes.
//
// # Ownership
//
// Text is copied: the strings of a Request or Response stay valid. Bodies and the
// payloads of interleaved frames are retained: they are the memory that was received
// into, and the caller releases them. Bodies and payloads given to a Write function
// are transferred, also when it fails. An interleaved frame costs no allocation in
// either direction.
//
// # Limits and errors
//
// Limits bound what a peer can make a Reader hold, and nothing is held before
// it has arrived. What a peer sends is never a panic: it is ErrSyntax,
// ErrVersion or ErrTooLong, after which the Reader cannot know where the next
// message begins and repeats the error. io.EOF stands between two messages,
// io.ErrUnexpectedEOF within one. After sluice.ErrShort, a deadline or
// mem.ErrBudget the call is repeated, and goes on where it stopped.
//
// # Concurrency
//
// A Reader belongs to one goroutine at a time, and so does a BufWriter. The
// functions on headers share nothing.
package rtsp
