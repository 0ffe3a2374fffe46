// Package rtmp speaks the Real-Time Messaging Protocol (Adobe, version 1.0,
// 2012, and enhanced RTMP v2) over readers and writers that it is given: it
// neither listens nor dials.
//
// A Conn is one side of a connection: the handshake, what a client asks for or
// a server answers, and then messages. ChunkReader and ChunkWriter are the layer
// below; AppendChunkHeader and AppendContinuation make chunks for programs that
// mux a message once for many receivers. RTMPS is the same over a tls.Conn.
//
// The payload of an audio, video or data message is the body of an FLV tag. It
// is a mem.Buf: retained by the holder of the Message, transferred to
// WriteMessage, which releases it also when it fails. A message that came in
// one chunk is the memory that it was received into. Bytes given to functions
// that parse are borrowed until these return.
//
// Limits bound what a peer can make a connection hold, before memory is taken for
// it. Memory follows the bytes that have arrived, whatever length a header
// announces. Deadlines are the caller's: the package waits as long as the
// connection does, and for the budget of the reader's Allocator as the reader does. Without
// a budget Limits.Hold bounds the memory of unfinished messages.
//
// A Conn is read by one goroutine; its writing methods may be called by others
// at the same time.
package rtmp
