package wal

import (
	"errors"
	"fmt"
)

// Errors that callers match with errors.Is.
var (
	// ErrCorrupt: something is damaged that was durable. It is a *CorruptError.
	ErrCorrupt = errors.New("wal: the log is damaged")
	// ErrFailed: writing or syncing failed once, and the log takes nothing any
	// more; what had not been synced may be lost. It can be closed and opened again.
	ErrFailed = errors.New("wal: the log has failed")
	// ErrLocked: another log has the directory open.
	ErrLocked = errors.New("wal: the directory is in use")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("wal: the log is closed")
	// ErrTooLong: a record is longer than MaxRecord.
	ErrTooLong = errors.New("wal: record too long")
	// ErrNoRecord: a record was asked for that the log does not have.
	ErrNoRecord = errors.New("wal: no such record")
)

// A CorruptError says where a log is damaged. It matches ErrCorrupt. Nothing has been
// changed.
type CorruptError struct {
	Segment string // path of the file
	Offset  int64  // in it, of the record that is damaged, in bytes
	Index   uint64 // number of that record
	Reason  string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("wal: %s is damaged at byte %d, record %d: %s", e.Segment, e.Offset, e.Index, e.Reason)
}

// Remedy says how to keep the records before the damage, of a log that is the only one.
func (e *CorruptError) Remedy() string {
	first := fmt.Sprintf("cut %s to %d bytes", e.Segment, e.Offset)
	if e.Offset == 0 { // an empty file would still have the name of records that do not come next
		first = "remove " + e.Segment
	}
	return fmt.Sprintf("nothing was changed; to go on with the records before %d: %s, and remove the %s files that follow it", e.Index, first, Suffix)
}

// Is makes it an ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }
