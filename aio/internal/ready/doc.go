// Package ready is the driver for systems that tell which descriptors are ready,
// edge-triggered. It has no goroutine: submissions try their operation at once, and
// the goroutine in Wait does the rest.
//
// The files, from the top: open, wait (the loop), submit and many, close and
// forgotten, find (names to connections), drop; below them reads and writes (one
// connection's operations against its socket), complete (an operation's end); then
// driver (the state), and the leaves conn, task, queue, table, backlog and timers.
package ready
