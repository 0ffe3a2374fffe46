// Package live passes streams on: one publisher, many viewers, each byte held
// once.
//
// A Hub knows streams by name. A Publisher appends frames to a Stream, which
// keeps the newest of them in a ring of counted memory: muxed once, immutable
// from then on. A Writer owns the sending side of many connections; each is a
// Viewer, and a viewer is a cursor into a stream's ring, not a queue. A few
// loops walk the viewers and send what has come since the last time in one
// gather write each.
//
// A viewer that joins is sent the metadata and sequence headers, then everything
// from the newest key frame on. A viewer that falls out of the ring goes on at the
// newest key frame; one that stays behind is closed, with the reason. Viewers do
// not wait for each other. Publish blocks only while the publisher is ahead of real
// time.
//
// Ownership: a Frame's payload is transferred to Publish; what a Reader returns
// is borrowed until its next call; a Viewer's connection belongs to the Writer
// for writing, and stays the caller's for reading. All types are for use by
// many goroutines at once, except a Reader, which one goroutine has at a time, and
// Publish, TryPublish and Resume of a Publisher, which have one caller at a time.
package live
