package aio

import "github.com/sluice-go/sluice/aio/internal/op"

// OpType says which way an operation goes. Its String is "read" or "write".
type OpType = op.Type

const (
	// OpRead is a read: Read, ReadTimeout, ReadFull, ReadContext, ReadBuf.
	OpRead OpType = op.Read
	// OpWrite is a write: Write, WriteTimeout, WriteContext, WriteBuf, WriteMemory.
	OpWrite OpType = op.Write
)

// OpResult is a completed operation. Its fields:
//
//   - Operation (OpType): OpRead or OpWrite.
//   - Context (any): what was given at submission.
//   - Conn (net.Conn): the connection as it was given at submission. It serves to name
//     the connection and for its addresses; reading, writing and closing go through the
//     watcher.
//   - Buffer ([]byte): the buffer that was submitted, whole and yours again, also when
//     the operation failed or was cancelled. After a read without a buffer it is the
//     watcher's own, borrowed until the next WaitIO, and as long as Size. After ReadBuf
//     it is a view of Buf. It is nil after WriteBuf and WriteMemory: those were
//     transferred.
//   - IsSwapBuffer (bool): Buffer is the watcher's own.
//   - Size (int): how many bytes were read or written, also when Error is set.
//   - Error (error): nil, or why the operation ended early: io.EOF, io.ErrClosedPipe,
//     ErrDeadline, the cause of a cancelled context, an error of the kernel.
//   - Buf (mem.Buf): what ReadBuf read: retained, to be released by the receiver of the
//     result. It is the zero Buf after every other operation and when nothing was read.
type OpResult = op.Result
