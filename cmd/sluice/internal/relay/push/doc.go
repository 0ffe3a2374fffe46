// Package push publishes streams of this server to others over RTMP, RTMPS
// and SRT, each target with a cursor, a connection and a backoff of its own: one that is
// slow or away costs the others and the viewers nothing.
//
// Frames are borrowed from the stream until they are written. A Pusher is safe for
// concurrent use.
package push
