// Package rtmpserver is the RTMP side of the relay: it accepts connections, does
// the handshake, reads the first request, and then publishes or plays.
//
// A connection has one goroutine that reads. What it receives is in counted
// memory and is transferred to the stream. A viewer's connection is transferred
// to the live.Writer, which sends all media.
package rtmpserver
