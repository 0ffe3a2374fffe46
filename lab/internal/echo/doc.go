// Package echo is a server that sends back what it receives, as a target for
// load tests, by one of two engines: package aio, and the standard library with a
// goroutine for each connection.
//
// Bytes are sent back when they have come, whatever messages they are parts of,
// and nothing more is read from a client until it has taken them: one that does
// not read holds up itself.
package echo
