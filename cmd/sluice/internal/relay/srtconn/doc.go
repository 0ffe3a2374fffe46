// Package srtconn has what all connections of SRT need: the address of a server that is
// called, calling it, and writes at a pace that the library and the line bear.
//
// An Address is read-only. A Paced is written by one goroutine at a time; Close may be
// called by any.
package srtconn
