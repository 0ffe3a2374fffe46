// Package rtspserver is the relay's RTSP side (RFC 2326): peers that publish by ANNOUNCE
// and RECORD, and peers that watch by DESCRIBE and PLAY, over the connection itself or
// over UDP.
//
// The packets of a stream are made once, for all of its RTSP viewers: see package
// rtpfeed.
//
// Ownership: connections are transferred to Serve.
package rtspserver
