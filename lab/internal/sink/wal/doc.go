// Package wal is a log of records in files that survives crashes: segments of
// checksummed records with consecutive numbers, the first of which is 1.
//
// What AppendBatch has returned for is with the operating system, and outlives a
// kill of the process; what Sync has returned nil for outlives the loss of power,
// as far as the disk keeps its word. A log that is opened again is cut behind its
// last whole record, and everything that is left is durable from then on. Damage
// to what was durable is not cut away: it is an error that names the place and says how
// to go on, and the files stay as they are. That holds for the end of a log, too, once
// it has been closed.
//
// Bytes given to AppendBatch are borrowed until it returns, bytes passed to the
// functions of Read and Scan until those return.
//
// A Log may be used by many goroutines at once.
package wal
