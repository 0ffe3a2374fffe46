// Package rawio has the system calls of clients and servers that are to cost no
// more than the kernel takes: what the lab's floors and generators are made of. It
// is for Linux; elsewhere the package is empty.
//
// Slices are borrowed for the call. The calls never wait unless they say so, and
// may be made from any goroutine.
package rawio
