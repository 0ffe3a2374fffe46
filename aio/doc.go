// Package aio is a proactor: programs submit reads and writes on ordinary
// net.Conns to a Watcher and collect the completions with WaitIO. One goroutine
// serves thousands of connections; an idle one costs a few hundred bytes, and
// no buffer and no goroutine.
//
// The surface is that of github.com/xtaci/gaio, so that a program written for
// it compiles with this import path; docs/migrating/gaio.md in the
// repository says what differs.
//
// # Who does the work
//
// There is no goroutine behind a watcher on Epoll or Kqueue. A submission tries
// its operation at once, in the caller. The rest is done by the goroutine that is
// in WaitIO: it drives the poller itself. So a queued write goes on, and a deadline
// fires, only while a goroutine is in WaitIO.
//
// Serve puts this together: watchers that accept, and share the connections. With a
// ConnHandler it calls back for each connection, with a state of the program's own, and
// speaks TLS without a goroutine for each.
//
// # Delegation
//
// The first submission delegates a connection to its watcher: the descriptor
// is duplicated and the original closed, so that the connection's own Read,
// Write and Close do nothing any more; it still serves as the name of the
// connection and for its addresses. Socket options stay as they are. Free
// closes it. A connection that the program forgot, with nothing pending on it,
// is closed after it has been collected; so is a forgotten watcher with all its
// connections, also when a Context leads to it, though writes that it has not made keep
// their memory from being used again then. What Serve has accepted is held until it is
// freed. The Std driver does not delegate: it uses the connection's own methods. It does
// not hold a connection with nothing pending, and Close closes such a one only if it is of
// package net or crypto/tls; an operation under way keeps its Context.
//
// # Ownership
//
// The buffer of a Read or Write is the watcher's from submission until the
// completion hands it back, which it does in every case: success, error,
// deadline, cancel, Free, Close. A buffer that a read without one returns
// (OpResult.IsSwapBuffer) is borrowed until the next WaitIO, as is the slice of
// results itself. Until then it may be passed to Write of the same watcher, which leases
// it until the write has completed; for another watcher, copy it. OpResult.Buf is retained. What WriteBuf and WriteMemory are
// given is transferred, also when they return an error.
//
// # Concurrency
//
// Every method may be called from any goroutine. WaitIO has one caller at a
// time: a call while another is under way panics. Reads on one connection complete
// in the order of submission, and so do writes, except that a deadline or a
// cancelled context may end an operation before earlier ones.
package aio
