// Package echo is a server that sends back what it receives, as a target for
// load tests, by one of three engines: package aio; the standard library with a
// goroutine for each connection; and the library's reader and writer with a
// goroutine for each connection, which retains what was read and transfers it to
// the writer without a copy.
//
// Bytes are sent back when they have come, whatever messages they are parts of,
// and nothing more is read from a client until it has taken them: one that does
// not read holds up itself, and costs one buffer, or what is gathered before a
// write.
//
// A Server runs once. Its other methods may be called from any goroutine at any
// time.
package echo
