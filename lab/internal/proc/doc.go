// Package proc reads what a process has used of the machine: its own, or
// another by its number. It touches no payload bytes. Its functions may be
// called from any goroutine.
//
// What a process used is the difference of two readings. A reading costs some
// system calls for each thread of the process; take it before and after what is
// measured and not within.
package proc
