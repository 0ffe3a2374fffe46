// Package memory keeps a server within its memory limit. It counts the server's
// counted memory and what the kernel holds for its viewers. When memory is short,
// first the rings of streams shrink, then the slowest viewers are closed, then
// new publishers are refused. Unused memory is returned to the system.
//
// A Keeper is safe for concurrent use.
package memory
