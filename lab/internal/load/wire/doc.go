// Package wire is what the load generator speaks: how requests are written, where
// replies end, and what kind of reply each is. A target's scheme chooses the
// protocol; each has a file of its own.
//
// Bytes that a Protocol returns are borrowed until its next call, and bytes that
// it is given are borrowed for the call. A Protocol belongs to one connection and
// one goroutine at a time; a Target may be used from any goroutine.
package wire
