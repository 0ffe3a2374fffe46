// Package keepalive serves HTTP/1.1 connections that stay open between many small
// requests, as those of HLS players do, with little memory: while a connection is idle or
// its handler waits, it has no buffer, and no goroutine beside its own unless it waits for
// long. net/http keeps 10 KiB of buffers for each, and a second goroutine while a handler runs.
//
// It answers GET and HEAD without a body, in the plainest form. A connection on which
// anything else is sent goes back to net/http, with all bytes of that: bodies, pipelined
// requests, upgrades, HTTP/1.0, long headers and malformed ones are not understood here.
//
// A handler's request has no body. Its context ends with the connection, which is noticed
// when the handler has run for some time.
//
// A Server is safe for concurrent use.
package keepalive
