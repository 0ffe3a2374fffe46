// Package std is the driver that uses only the methods of net.Conn, so it takes every
// connection on every system. It does not delegate: the connection stays usable, but
// while an operation is pending only the watcher may set its read and write
// deadlines.
//
// Each direction of a connection has a queue, and a goroutine that carries out what is
// in it and ends when it is empty. An idle connection has no goroutine.
//
// Deadlines and contexts end an operation that waits in the queue at once. The
// one that a goroutine is carrying out owns its buffer until the call comes
// back, so that call is interrupted through the connection's deadline. On a
// connection that has no deadlines, or is slow to apply them (crypto/tls in the
// handshake), the completion comes when the call returns, and not before. A
// Write on a TLS connection that its deadline cuts short leaves crypto/tls unable
// to write anything more: later writes complete with its error.
//
// Connections are compared with ==. One with nothing pending is held until the
// next Wait and then forgotten, except that those of the types in weakRef are
// remembered weakly: to be closed with the watcher, and to be known as freed.
// Others, once freed, give ErrConnClosed in the completion and not at
// submission, and the watcher's Close leaves them open when they are idle.
//
// The files, from the top: submit, many, wait, close, free (what the program calls);
// run (a direction's goroutine) with reads and writes; early and complete (an
// operation's end); below them driver (the state) and the leaves.
package std
