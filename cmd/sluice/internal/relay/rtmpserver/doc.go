// Package rtmpserver is the RTMP side of the relay: it accepts connections, takes
// them through handshake and first request, and publishes or plays what they
// ask for.
//
// A connection has one goroutine that reads. What it receives lies in counted
// memory and is transferred to the stream; all media is sent by the writer of
// streams, which a viewer's connection is transferred to.
package rtmpserver
