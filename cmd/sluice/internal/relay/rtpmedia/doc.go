// Package rtpmedia converts access units into RTP packets and back, and describes
// them in SDP: what RTSP and other protocols over RTP share.
//
// A Muxer makes the packets of a stream, once for all who are sent them, as
// interleaved frames of RTSP (RFC 2326, section 10.12): "$", a channel, a length, a
// packet. That is how packets lie in memory; over UDP the four bytes are left out. A Collector makes access units of
// the packets of one track.
//
// Ownership: units given to a Muxer are borrowed until the call returns. Packets given
// to a Collector are transferred, and what it delivers is retained by the receiver.
//
// A Muxer and a Collector belong to one goroutine at a time.
package rtpmedia
