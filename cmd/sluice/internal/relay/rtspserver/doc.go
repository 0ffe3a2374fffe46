// Package rtspserver is the relay's RTSP side (RFC 2326): peers that publish by ANNOUNCE
// and RECORD, and peers that watch by DESCRIBE and PLAY, over the connection itself or
// over UDP.
//
// The packets of a stream are made once, for all of its RTSP viewers, and only while
// there are some: a feed reads the stream and appends its packets to a live.Stream of
// its own, from which viewers are sent as everywhere in this program. So the same rules
// hold for those who are slow.
//
// Ownership: connections are transferred to Serve.
package rtspserver
