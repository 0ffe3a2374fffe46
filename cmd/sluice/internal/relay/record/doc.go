// Package record writes live streams to FLV files.
//
// A Recorder owns a directory. Its Record copies one stream, tag by tag, into
// files DIR/APP/NAME-YYYYMMDD-HHMMSS.flv: the header, the metadata and sequence
// headers, then everything from the first frame that a player can start at,
// with times that begin at 0. Every write ends where a tag ends, and what is
// written stays as it is, but for a flag that says that there is sound or that
// there are pictures: a file is playable up to its last whole tag however the
// program ended. When a sequence header changes, the file ends and another
// begins at the next key frame.
//
// A stream is never held up by its recording. Tags come from a Source, which
// is a cursor into the stream: where the disk cannot follow, the source skips,
// says how much, and goes on at a key frame. When writing fails, the recording
// ends and the stream goes on.
//
// Tags that a Source returns are borrowed until its next call. A Recorder is
// for use by many goroutines at once.
package record
