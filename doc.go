// Package sluice reads byte streams into pooled, counted memory and writes
// from it: one path from socket to socket on which a byte is received once
// and leaves from where it lies.
//
// A [BufReader] takes bufio.Reader's place. It lends bytes (Next, View),
// hands them out by reference (ReadBuf, ReadFrame, ReadBytes) without copying or
// allocating, and holds no memory while an ordinary connection waits. A
// [BufWriter] gathers small writes and counted memory into one system call per
// Flush. [Options] give either its own allocator, block size and bounds. Both
// build on package mem, whose three words are used throughout:
// borrowed bytes are yours until the call that is named, retained ones until
// you call Release, transferred ones no longer.
//
// A BufReader or BufWriter belongs to one goroutine at a time. What ReadBuf
// returned can be used, shared and released by any.
package sluice
