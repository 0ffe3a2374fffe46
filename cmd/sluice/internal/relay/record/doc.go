// Package record writes live streams to files, as FLV or, with Options.Format, as the
// fragmented MP4 of package mp4.
//
// A Recorder owns a directory. As FLV its Record copies one stream, tag by tag, into
// files DIR/APP/NAME-YYYYMMDD-HHMMSS.flv: the header, the metadata and sequence
// headers, then everything from the first frame that a player can start at, with
// times that begin at 0: that frame's, or those of older sound that comes behind it,
// for which the first write waits. Every write ends where a tag ends, and written bytes do
// not change, except the flags for audio and video in the header, and the index:
// a file is playable up to its last whole tag, even after a crash. When a
// sequence header changes, the file ends and another begins at the next key
// frame, or with sound when there is no picture for a second: then pictures follow
// from their next key frame on. Where only the sound changes, the file has the
// pictures up to that.
//
// An MP4 file is written by whole fragments, and is playable up to its last one; codecs
// that MP4 has no form for are left out.
//
// A recording never blocks its stream. Tags come from a Source, which is a cursor
// into the stream: when the disk is too slow, the source skips tags, reports how
// many, and goes on at a key frame. When a write fails, the recording ends and
// the stream goes on.
//
// Tags that a Source returns are borrowed until its next call. A Recorder is safe
// for concurrent use.
package record
