package wal

import "io"

// An FS is what a Log needs of a file system. Names are paths. Options without
// one use the system's; tests put one under a log that fails or forgets.
type FS interface {
	// MkdirAll makes a directory, and those above it, durable where it can be made so.
	MkdirAll(dir string) error
	// ReadDir returns the names of what is in a directory, in any order.
	ReadDir(dir string) ([]string, error)
	// Create makes a file that is not there yet, for reading and writing.
	Create(name string) (File, error)
	// Open opens a file for reading and, with write, for writing.
	Open(name string, write bool) (File, error)
	Remove(name string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Lock takes a directory for the caller alone until what it returns is closed. It
	// does not wait: a directory that another owner has locked is ErrLocked.
	Lock(dir string) (io.Closer, error)
}

// A File is an open file of an FS. WriteAt has one caller at a time, which Sync and
// ReadAt may run beside.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes everything durable that was written before the call.
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}
