// Package hls serves streams as HLS (RFC 8216 and its second edition, the draft
// rfc8216bis): playlists, and fragmented MP4 in segments and, with low latency, in parts
// of segments.
//
// A muxer reads a stream like any viewer and makes its segments, once for all viewers,
// while there are viewers and a little longer. It is a muxer of our own and not that of
// gohlslib, which keeps segments in memory that nothing counts, has one initialization
// for a playlist, so that a change of codec parameters ends it, and waits for the next
// part without an end.
//
// Ownership: parts are in counted memory that the timeline holds. An answer retains the
// parts that it sends. What is given to a muxer is borrowed until the call returns.
//
// All exported methods may be called concurrently.
package hls
