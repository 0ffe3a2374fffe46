// Package memory keeps a server within the memory that it may have: its
// counted memory and what the kernel holds for its viewers. When that is short
// the rings of streams shrink first, then the slowest viewers go, then new
// publishers are refused. Memory that is not used any more goes back to the
// system.
//
// A Keeper is for use by many goroutines at once.
package memory
